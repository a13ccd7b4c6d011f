"""The node: one process, one event loop.

server          runs a node from its settings until it is told to stop
node            the parts of a node, wired together
environment     what a node takes from the world: time, chance, threads, disk, network
upkeep          work that comes round: retention, checkpoints, compaction, scrubbing
routes          the table of all APIs
handlers/       one file per API
control/        being the controller, reaching it, following it
coordinator/    groups and transactions
fetch/          serving fetches
follower/       fetching from leaders
replica/        the replicas on this node
quorum/         this node's replica of the metadata log
net/            sockets, of clients and of other nodes
settings/       what can be configured
runtime/        clock, memory, processes

Imports go down this list only; `lint-imports` holds that.
"""
