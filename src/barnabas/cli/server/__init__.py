"""`barnabas server`: a node, or a whole cluster on this machine.

command             the command, and where its settings come from
health              `barnabas health`: is a node ready, alive, started
local_nodes         the nodes of a cluster on one machine: ids, ports, directories
supervisor          starts them, restarts them, stops them one after the other
growth              nodes that are added while it runs
node_process        one of them as a child process
supervised_node     what that child process runs
lifeline            ends a child process with its parent
companions          the console and the registry of `--console` and `--registry`
supervised_command  what their processes run
"""
