"""The producers of one partition: sequences, epochs and transactions.

state           the producers of an open log
table           the last batches of each producer, by which duplicates are found
transactions    ongoing transactions, and the first unstable offset
snapshot        the table as bytes
snapshot_files  `.snapshot` files, and replay of the batches behind the newest one
"""
