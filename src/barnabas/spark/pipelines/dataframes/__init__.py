"""Topics and tables as DataFrames, in Spark programs that are not pipelines.

topic_reader     `read_topic`, `read_table`, `read_undecodable`
topic_writer     `write_topic`
postgres_reader  `read_postgres`
"""
