"""Changes of databases as events, without Spark: what pipelines read them with.

postgres  changes of a PostgreSQL, by logical replication
"""
