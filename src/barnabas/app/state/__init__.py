"""State of handlers: one value for each key, in a compacted topic and a local file.

    the record -> State -> the function -> [ results, the changed value, the offset ] -> LocalStore

state            `State`: what a function gets
declaration      what a handler declares: the type, the topic
handler_states   the state of the partitions that a handler has
state_partition  of one partition: restored, current, changed
local_store      its SQLite file, which is a cache
changelog        the topic, as handlers read it
cluster_changelog, memory_changelog     in a cluster, and in tests
"""
