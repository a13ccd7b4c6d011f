"""`barnabas mirror`: copies of topics in other clusters.

commands       the family
run            `mirror run`: its options, and files of Mirror Maker 2
rights         `mirror rights`: what a flow has to be allowed
foreground     flows in this process, until they are stopped
cluster_option clusters as options name them
operations     status, verify, failover, failback
flow_options   the options that say which flow they mean
flow_file      property files of Mirror Maker 2, for all of these commands
output         how they print what they found
"""
