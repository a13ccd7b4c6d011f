"""What can be known of a cluster, and what is wrong with it: for the commands and the console.

status              nodes, quorum, and the partitions that lack something
missing_controller  why a cluster has no controller
node_metrics        what nodes of Barnabas tell over HTTP
sample              the counters of a cluster at one moment
rates               what has happened between two samples
facts               a snapshot of a cluster; all that the checks look at
collect/            takes the snapshot: over the Kafka protocol, and from the metrics of nodes
checks/             one subject each, functions of the snapshot
examine             all checks, the most severe findings first
finding             what is wrong, how severe it is, and what mends it
"""
