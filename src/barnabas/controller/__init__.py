"""Decisions about brokers, topics, partitions, configs and producer ids.

A request in, records and an answer out. Records are replayed into the controller's pending image at
once, and into the `MetadataImage` of every node when they are committed.

    controller.py                    one method per request, and deadlines
    draft.py decision.py             a decision while it is made, and its result
    partition_changes.py placement.py replica_ends.py                   partitions and replicas
    leader_election.py liveness.py leaders/                             leaders
    registrations.py sessions/                                           brokers
    topics.py create_partitions.py internal_topics.py                   topics
    configs.py alter_configs.py producer_ids.py                         configs, producer ids
    acls.py                                                             access rules
    features/                                                           levels of features
    isr_changes.py lost_replicas.py elect_leaders.py reassignments.py
"""
