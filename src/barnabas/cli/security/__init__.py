"""`barnabas security`: certificates and the first administrator of a secured cluster.

commands     the commands
node_hosts   nodes as they are given on the command line
"""
