"""Changes of a PostgreSQL, by logical replication with its own output plugin, pgoutput.

pgoutput       messages of the plugin, from bytes
lsn            positions in the log
type_catalog   types of columns, by their numbers
values         values: from PostgreSQL's text to JSON
calendar_text  dates and times for it
nested_text    arrays and hstores for it
"""
