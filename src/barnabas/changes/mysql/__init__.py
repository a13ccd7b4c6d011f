"""Changes of a MySQL or MariaDB, by its binary log.

changes         `MySqlChanges`: positions, and the events between them
settings        settings, under Debezium's names
envelope        events as records

snapshot        rows that were there before the first change
signals         what incremental snapshots need of the database
catalog         what the database says of its tables
binlog_stream   the events of the log between two positions, from the server
server_checks   whether the server logs what is needed
connection      connections, and errors in a line
position        how far a stream was read, as it is saved

events          changes, from the events of transactions
table_layout    how the rows of a table are in the log
table_shape     how they are written
binlog_events   events of the log, from bytes
table_map       the event that describes a table
row_values      values in the log, from bytes to the server's texts
json_document   values of type JSON in the log of a MySQL
values          values: from the server's texts to JSON
column_type     types of columns
"""
