"""Tables of Parquet files on this machine, written exactly once and compacted while in use.

file_kind        formats of its files: Parquet, and text
table            the files, and which batches they hold
table_owner      the query that owns a table
batches          writes micro-batches to a table
compaction       makes large files of small ones
folder_exchange  exchanges two folders in one step
"""
