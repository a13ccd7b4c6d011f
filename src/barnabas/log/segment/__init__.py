"""One segment file and what belongs to it.

segment            a run of batches in one file, with its indexes
segments           the segments of a log, in the order of their offsets
sparse_index       `.index` and `.timeindex`
transaction_index  `.txnindex`
file_names         names of files in a partition's directory
open_files         a cap on open file descriptors
batch_epochs       leader epochs of batches, read and written in place
scan               read every batch of a file and check it
batch_search       find the next whole batch behind a damaged place
unreadable_batch   batches with a valid CRC whose records can't be decoded
deletion           rename now, unlink later
"""
