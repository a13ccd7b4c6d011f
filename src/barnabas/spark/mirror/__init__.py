"""Mirrors on Spark: a streaming query whose tasks copy partitions from cluster to cluster.

Its rows are the syncs of what was copied; records themselves do not go through Spark's JVM.

mirror_connector  the source of the query: plans rounds, and copies in tasks
lingering_round   goes on copying between rounds, in the process of a task
mirror_query      the query, and what it tells of each round
"""
