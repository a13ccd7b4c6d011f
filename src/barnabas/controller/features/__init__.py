"""Levels of features: `metadata.version` and what clients ask brokers for.

update_features   raising a level, once all nodes support it
node_features     what the nodes of a cluster support, as they were asked
"""
