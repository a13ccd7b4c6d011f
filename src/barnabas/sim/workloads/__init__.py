"""The clients of a run. They report what they send and see to `checks`.

real_client              the client library itself, on simulated time and network
service                  an application itself: a schedule, and a handler with state
transactional_workload   consume-transform-produce with transactions, and readers of the result
worker                   one consume-transform-produce loop
transactional_producer   a producer with a transactional id, of both protocol versions
transactional_offsets    committed offsets of a group whose commits are transactional
transaction_errors       what the errors of a transaction mean
committed_reader         a consumer with read_committed
share_workload           a share group, which is done with every record in the end
share_member             a member of it
consumer_group_workload  a consumer group of the newer protocol, which converges in the end
consumer_group_member    a member of it
mixed_group_workload     a group with members of both protocols
member                   a member of a consumer group of the classic protocol
compaction_workload      a compacted topic with a few keys
deletion_workload        a topic whose oldest records are deleted meanwhile
changing_topic           a topic that an operator changes while it is used
topic_operator           changes settings, partitions and replication of topics
voter_operator           removes and adds voters
registry_workload        instances of the schema registry, which give ids
expiry_workload          groups whose committed offsets expire, and others that are quiet
reused_name              a topic that is deleted and created again meanwhile
pinned_reader            a consumer on one side of a long cut
consumer, producer       plain clients of given partitions
administrator            topics, reassignments, elections
"""
