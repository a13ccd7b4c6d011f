"""PostgreSQL: connections, types, and how rows are merged into a table.

connection  a connection, and its errors in a line
types       Spark's types as types of PostgreSQL
upsert      a batch of rows merged into a table, in one transaction
"""
