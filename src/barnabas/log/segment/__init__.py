"""One segment file and what belongs to it.

segment            a run of batches in one file, with its indexes
segments           the segments of a log, in the order of their offsets
sparse_index       `.index` and `.timeindex`
transaction_index  `.txnindex`
open_files         a cap on open file descriptors
scan               read every batch of a file and check it
unreadable_batch   batches with a valid CRC whose records can't be decoded
deletion           rename now, unlink later
set_aside          copies of what is cut off a log
"""
