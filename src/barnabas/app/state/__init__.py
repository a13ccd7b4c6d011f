"""State of handlers: one value for each key, in a compacted topic and a local file.

    the record -> State -> the function -> [ results, the changed value, the offset ] -> LocalStore

state            `State`: what a function gets
declaration      what a handler declares: the type, the topic
attempt_state    what one attempt gets, and has changed
handler_states   the state of the partitions that a handler has
refused_changes  what the changelog has refused
state_partition  of one partition: restored, current, changed
restoration      files are brought to where the changelog is
standbys         copies of partitions that may be inherited; inheritance says which
local_store      its SQLite file, which is a cache
reader, opening, page     reading from outside; keys are how people write them
changelog        the topic, as handlers read it
changelog_topic  created once, checked at each start
rebuild          built again from the source topic
cluster_changelog, memory_changelog     in a cluster, and in tests
"""
