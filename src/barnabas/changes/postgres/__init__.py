"""Changes of a PostgreSQL, by logical replication with its own output plugin, pgoutput.

changes        `PostgresChanges`: positions, and the events between them
settings       settings, under Debezium's names
envelope       events as records

slot           the replication slot and the publication
slot_log       the log as the slot gives it
snapshot       rows that were there before the first change, in chunks
signals        what incremental snapshots need of the database
catalog        what the database says of its tables and types
connection     connections, and errors in a line
watched_connection a connection that notices a frozen server
position       how far a stream was read, as it is saved

events         changes, from the messages of transactions
table_shape    the shape of a table, from what the database says of it
pgoutput       messages of the plugin, from bytes
values         values: from PostgreSQL's text to JSON
nested_text    arrays and hstores for it
type_catalog   types of columns, by their numbers
lsn            positions in the log
"""
