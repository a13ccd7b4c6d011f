"""Topics and tables as DataFrames, in Spark programs that are not pipelines.

topic_reader     `read_topic`, `read_table`, `read_undecodable`
topic_writer     `write_topic`
avro_functions   `from_avro`, `to_avro`
postgres_reader  `read_postgres`
"""
