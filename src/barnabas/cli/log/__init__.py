"""`barnabas log`: the files of a broker, without a broker.

commands  the commands
dump      batches and records of a segment file
repair    takes unreadable batches and lost partitions away
"""
