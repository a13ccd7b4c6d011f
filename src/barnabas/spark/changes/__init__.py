"""Changes of databases as a streaming data source; `from_postgres_changes` uses it.

data_source     the source that Spark makes from options
stream_reader   micro-batches: which positions, and what is between them
change_columns  changes as columns
"""
