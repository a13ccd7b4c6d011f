"""Mirrors on Spark: a streaming query whose tasks copy partitions from cluster to cluster.

It has no rows: records do not go through Spark's JVM, and tasks report to the driver directly.

mirror_connector  the source of the query: plans rounds, and copies in tasks
report_channel    reports of tasks to the driver, and the end of their round
mirror_query      the query
mirror_reports    who hears the reports of a mirror that is a connector
"""
