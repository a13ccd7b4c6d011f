"""The node: one process, one event loop.

server          runs a node from its settings until it is stopped
start_check     what a start would refuse, found without one
upkeep          periodic work: retention, checkpoints, compaction, scrubbing
routes          the table of all APIs
node_run        starts a node, lets it leave the cluster, closes it
node            the parts of a node, wired together
environment     what a node takes from the world: time, chance, threads, disk, network
handlers/       one file per API
control/        the controller, the way to it, following its decisions
coordinator/    groups and transactions
fetch/          serving fetches
follower/       fetching from leaders
offline/        work on a data directory that no server runs on
replica/        the replicas on this node
quorum/         this node's replica of the metadata log
net/            sockets, of clients and of other nodes
quotas/         what clients use, and how long those over their quota wait
settings/       what can be configured
runtime/        clock, memory, processes

A module imports only what is below it in this list; `lint-imports` checks that.
"""
