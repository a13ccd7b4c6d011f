"""Reads Spark's state stores without Spark, which takes ten times as long to start as to read.

state_rows    the rows of a table of state, as `read_state` has them
condition     which rows are wanted, where that is a simple comparison
state_store   keys and values of one partition at one version, in RocksDB
memory_store  the same of Spark's own store
changelog     what one batch has changed
sorted_table  RocksDB's files of sorted keys, in snapshots
lz4_stream    the compression of changelogs
unsafe_row    rows as Spark has them in memory, and in keys and values
unreadable    what is raised where only Spark can read a file

The files are those of RocksDB with changelog checkpoints, which pipelines use by default, and those
of Spark's own store. All else, such as column families and other compressions, is left to Spark.
"""
