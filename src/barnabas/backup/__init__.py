"""Backups: topics, groups' offsets, settings, ACLs and quotas of a cluster, in a folder or store.

    create   cluster  ->  data files  ->  point (manifest), written last
    restore  point    ->  topics, records, offsets, settings of another cluster

Everything goes by the public protocol, so any Kafka can be backed up and restored into. Batches are
kept as they are. A data file never changes once it is written, and a point names all files that
belong to it: a later point names most of the files of the one before, and those with what is new.

    points/TIME-RUN.json                       a point
    partial.json                               what an interrupted run has copied
    data/TOPIC/PARTITION/FIRST-RUN.batches     record batches, one after the other

store             a folder, or an object store, as the few things that are done with one
manifest          what a point says, and its form as JSON
signature         points that are signed with the operator's key
points            points of a store: listed, read, written
batch_reader      committed batches of a partition, as the cluster has them
partition_backup  the data files of one partition
mirrored_partitions
                  ends of logs that fit the positions of mirrors
cluster_state     groups, settings, users, ACLs and quotas, read
create            makes a point
verify            reads all that belongs to points, and names what is damaged
prune             deletes points, and files that belong to none
restore_plan      which records of which files are restored: a decision
partition_restore writes one partition
restored_topics   topics of the target: made, and given their settings
restored_groups   offsets of groups, and which of them are translated
restored_state    offsets of groups, settings, ACLs and quotas, set
left_to_do        the commands for what is left to do by hand
restore           restores a point
workers           work that is done side by side
"""
