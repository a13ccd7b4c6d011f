"""Opening a partition's directory after a stop, a crash, a power loss or damage.

recovery        load trusted segments, scan the others, cut a torn tail, find what is lost
recovered       the result: the state that an open log begins with
inventory       the files compared with what `log.state` says
segment_loader  load one segment
leftovers       remove files that an interrupted operation has left
salvage         keep the batches behind a damaged place
refusal         refuse to open a log that has lost records it had synced
"""
