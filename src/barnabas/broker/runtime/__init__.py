"""The process around a node: clock, memory, event loop, child processes, standard streams.

clock               wall clock and monotonic clock
slices              long work, a slice at a time
request_parts       large requests, split and answered as a whole
loop_stalls         how long the event loop has stood still
child_process       long work in another process
node_threads        the threads of a node, by the work that they do
container_limits    the memory and CPUs that a container may use
free_memory         gives memory back to the system
release             what the software of a node knows
peer_versions       in which versions nodes talk
standard_streams    output that may be closed or full
"""
