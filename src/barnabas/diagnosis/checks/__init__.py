"""What a doctor looks for. Each check is a function from a snapshot to findings; it asks nobody.

availability      no controller, nodes down, partitions without leader or replicas
quorum            voters: their number, those that lag, those that came back empty
disks             failed directories, and disks that fill up
clocks            nodes whose clocks differ
versions          nodes of different releases
certificates      certificates that expire
open_files        a limit of open files that is nearly reached
balance           leaders, replicas and bytes spread unevenly; moves that go on
racks             replicas that one rack takes down
throttles         limits that a move has left behind
replication       replication factors, min.insync.replicas, unclean elections
retention         retention and compaction that contradict the segments
message_sizes     records that fit the topic and nothing else
unequal_settings  nodes that disagree about the cluster
groups            lag, abandoned groups, records deleted unread
transactions      transactions that hang or were abandoned
quotas            quotas that stop a client
"""
