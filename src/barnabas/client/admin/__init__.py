"""Administration of a cluster.

admin_core        the core of `Admin`
topics            created, grown, emptied, deleted; their size on disk
configs           of topics and brokers
brokers           those that are registered, live or not
groups            consumer groups from outside: listed, described, deleted
group_offsets     committed offsets and lag of a group
descriptions      what `Admin` returns of topics and groups
transactions      listed and described, their producers fenced
active_producers  producers as partition leaders know them, hanging transactions
reassignments     replicas that move between brokers, leader elections
replicas          log ends and eligible leaders
placement         plans for where replicas should go
quorum            the voters of the metadata log
"""
