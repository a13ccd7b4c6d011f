"""Files in an object store, by pyarrow: Spark itself needs JARs for each kind of store.

object_table    a folder of files in a store, each batch written exactly once
object_batches  micro-batches of a stream for such a folder
object_files    files that are added to a folder, by position
"""
