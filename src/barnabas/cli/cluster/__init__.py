"""`barnabas cluster`: status, membership, moves of replicas, elections.

commands            the commands, their options and what they print at the end
status_output       nodes, quorum and partitions as tables or JSON, once or with --watch
status_wait         `status --wait`: until all is well, with what is missing
doctor/             everything that is wrong, and what mends it
top/                a live screen of brokers, topics, groups and clients
membership          nodes that join, leave or are drained
rolling_restart     `cluster restart`: one node after the other
move                `cluster move`: replicas of named partitions to named nodes
balance             `cluster balance`: loads of partitions, the plan, and carrying it out
balance_command     its options and what it prints
reassignments       a plan of moves, carried out a few at a time
recover_command     `cluster recover`: its options
recovery            of a running cluster: what each replica has, what an election loses
rebuild             of a stopped node: what it has, and the cluster rebuilt from it
upgrade_command     `cluster upgrade` and `features`: levels of features
"""
