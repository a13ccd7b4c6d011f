"""Administration of a cluster.

admin_core        the core of `Admin`
topics            created, grown, emptied, deleted; their size on disk
doubt             attempts that failed and may have been carried out
companion_topic   TOPIC.delayed and others: as safe as their topic
configs           of topics, brokers and groups
brokers           those that are registered, live or not
groups            groups of all types from outside: listed, described, deleted
group_members     a group with its members, whatever its type
classic_groups    groups of the classic protocol, described
consumer_groups   groups of the consumer protocol, described
share_groups      share groups, described; their start offsets
group_offsets     committed offsets and lag of groups of any type, read and set
batches           long lists of names in parts
group_reset       new committed offsets of a group: planned, then applied
descriptions      what `Admin` returns of topics and groups
transactions      listed and described, their producers fenced
active_producers  producers as partition leaders know them, hanging transactions
reassignments     replicas that move between brokers, leader elections
replicas          log ends and eligible leaders
placement         plans for where replicas should go
features          levels of features: in force, supported by each node, raised
quorum            the voters of the metadata log
acls              access rules, and which of them decides
"""
