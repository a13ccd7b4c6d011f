"""`barnabas cluster`: status, membership, moves of replicas, elections.

commands            the commands, their options and what they print at the end
status              nodes, quorum and partitions that lack something, collected
status_output       the same as tables or JSON, once or with --watch
doctor/             everything that is wrong, and what mends it
top/                a live screen of brokers, topics, groups and clients
node_metrics        what nodes tell over HTTP beyond the Kafka protocol
missing_controller  why there is no controller
membership          nodes that join, leave or are drained
move                `cluster move`: replicas of named partitions to named nodes
balance             `cluster balance`: loads of partitions, the plan, and carrying it out
balance_command     its options and what it prints
reassignments       a plan of moves, carried out a few at a time
unclean_election    what each replica has, and what an unclean election loses
"""
