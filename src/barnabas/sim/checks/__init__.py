"""What must hold in a run.

watch                 looks into every broker after each of its turns
broker_log            what brokers log; a broker that failed is a violation
guarantee             which losses the cluster has to survive, so which faults are allowed now
acknowledged_copies   on how many disks acknowledged records are
copies                how many copies of committed records stay when replicas are deleted
deleted_records       which records may be missing, because they were to be deleted
kept_records          how far replicas have what is committed, and that they keep it
log_changes           logs that are changed somewhere else than at their end
min_insync            which `min.insync.replicas` counts while it changes
decisions             coordinators' decisions about transactions, compared with the logs
voter_sets            who votes, compared among nodes and with their snapshots
reached_states        which of the states that matter a run has reached
replay_check          persistent state, compared with a replay of the log
committed_log         what is committed in a partition, batch by batch
compacted_log         the same, record by record, in a partition that is compacted
epoch_starts          where leader epochs began, compared among replicas
transaction_history   what transactions wrote and read, and what is visible of it
deliveries            what members of a share group were given, and what became of it
ownership             which member of a group owns which partition, at each moment
history               what clients sent, were answered and read
"""
