"""`barnabas cluster doctor`: everything that can be known of a cluster, and what is wrong with it.

facts       a snapshot of a cluster; all that the checks look at
collect/    takes the snapshot: over the Kafka protocol, and from the metrics of nodes
checks/     one subject each, functions of the snapshot
examine     all checks, the most severe findings first
finding     what is wrong, how severe it is, and what mends it
report      findings as text or JSON, and the exit code
"""
