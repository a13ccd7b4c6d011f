"""`barnabas registry`: the schema registry.

command  its options, and running it
"""
