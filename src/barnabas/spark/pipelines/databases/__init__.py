"""Tables of SQLite, DuckDB and MySQL: connections, types, and batches written exactly once.

session       a connection, as little of it as is used here
dialect       what differs from one database to another
sqlite        SQLite
duck          DuckDB
mysql         MySQL and MariaDB
keyed_rows    one row for each key of a batch, and which of them delete
query_place   where a query is run: a URL, credentials, a time limit
query_driver  connections for queries, by URL
jdbc          queries by JDBC, with a JVM in this process
query_values  values of a driver as those of Spark's types, and as positions
table_writer  a batch of rows written to a table, in one transaction with its number
"""
