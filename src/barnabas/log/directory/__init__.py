"""The data directory of a node.

data_directory      its lock, its identity, and a directory per partition
partition_metadata  `partition.metadata`: the topic that a partition's directory belongs to
"""
