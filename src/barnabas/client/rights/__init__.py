"""The rights that a program declares: printed as commands, and checked before it starts.

right    one operation on one resource, and what it is for
grants   the commands that grant them
probe    which of them this client lacks, by asking the brokers
rules    which of them a user lacks, by the access rules
topic_operations  what this client may do with a topic
check    the error of a client that lacks some
report   the error that names what is missing
"""
