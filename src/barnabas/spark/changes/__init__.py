"""Changes of databases as a streaming data source; `from_postgres_changes` and
`from_mysql_changes` use it.

data_source     the sources that Spark makes from options
stream_reader   micro-batches: which positions, and what is between them
change_columns  changes as columns
databases       what differs between databases
"""
