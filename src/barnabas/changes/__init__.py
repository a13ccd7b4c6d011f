"""Changes of databases as events, without Spark: what pipelines read them with.

postgres           changes of a PostgreSQL, by logical replication
mysql              changes of a MySQL or MariaDB, by its binary log

envelope           changes as records, in Debezium's envelope
events             changes and transactions
table_shape        a table as its rows are written
rows               rows as databases send them
incremental        tables that are read again while changes go on
signals            what asks for that
snapshot_position  how far a snapshot has been read
table_filter       which tables and columns are read
setting_values     settings under Debezium's names, checked and parsed
json_values        decimals, bytes and texts as JSON
calendar_text      dates and times, from texts
errors             what goes wrong
"""
