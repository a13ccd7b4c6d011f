"""Mirrors: topics of one cluster, copied into another.

    flow  ->  topic plan  ->  shares of processes  ->  partition copies  ->  syncs

A flow goes from a source cluster to a target cluster. Processes share its partitions as members of
a group. Batches are fetched from the source and written to the same partition of the target in
transactions, which also commit the source position as the offset of the flow's group. So what was
copied and how far it was read can't disagree, whatever dies, and no state is kept elsewhere.

flow             the two clusters, which topics, how they are named: all that describes a flow
named_client     a client whose errors name the cluster they are about
names            names of topics in the target, and loops among them
topic_plan       which topics flow, and which to create, grow, change or delete: a decision
rights           what a flow has to be allowed in both clusters
rights_check     refuses to start a flow without them
topic_sync       reads both clusters, decides, and carries it out
loop_check       refuses flows that would copy records around in a circle
fan_in_check     refuses flows that would mix their records with those of another
access_plan      which ACLs and quotas the target gets: a decision
access_sync      reads both clusters, decides, and carries it out
configured_flow  a flow, and the groups to mirror
positions        how far each partition was copied: offsets of the flow's group in the target
syncs            which offset of the target corresponds to which of the source
provenance       the header that says which clusters a record has passed
batches          batches of the source, made into batches of the target's producer
partition_writer writes batches and position of one partition in a transaction
partition_copy   copies one partition
assigned_copies  copies the partitions that a process has, until others are assigned to it
flow_topics      the topics of a flow, as one process of it sees them
flow_run         a flow in one process, from start to end
copy_report      what a process has copied, once a second
recovered_runs   finds in the target where the last transaction of a partition is
rate_limit       how many bytes may be copied when
write_budget     how many bytes are under way to the target at once
mirror_maker/    property files of Mirror Maker 2
operations/      what people do with a mirror, from outside
"""
