"""The calls, by noun; `endpoints` has them all.

overview        how the cluster is, what it does, what has happened
topics          listed, created, described, grown, emptied, deleted
topic_clients   groups that read a topic, producers that write it
topic_settings  of one topic, with defaults and explanations
messages        read, followed, looked at, sent again
produce         one message sent, also by a schema of the topic
message_search  searched and downloaded, as a stream of lines
groups          listed, described, moved, deleted
cluster         nodes, disks, quorum, settings of nodes
transactions    those that are open, and those that hang
users           users, access rules and quotas
pipelines       as they report, and those of this machine
pipeline_requests  asked to stop or restart
flow            pipelines and connectors as a graph
connectors      of a Connect service
schemas         subjects of a schema registry, two versions compared, a change checked
finder          anything by a part of its name
"""
