"""Opening a partition's directory after a stop, a crash, a power loss or damage.

recovery  load trusted segments, scan the others, cut a torn tail
salvage   keep the batches behind a damaged place
refusal   refuse to open a log that has lost records it had synced
"""
