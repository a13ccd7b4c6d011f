"""The command `barnabas`. Modules import what is heavy inside their commands: `--help` is fast.

app        all commands, and the options before them
server/    `server`: a node, or a whole cluster on this machine
security/  `security`: certificates and the first administrator
cluster/   `cluster`: status, membership, moves of replicas, elections
admin/     `topics`, `groups`, `configs`, `transactions`, `profile`
records/   `produce`, `consume` and `get`
console/   `console`: the web console
application/   `app`: run and describe applications
queue/     `queue`: the access rules of queues of jobs
dead_letters/  `dead-letters`: of handlers, queues and pipelines
backup/    `backup`: a cluster in a folder or an object store, and back
mirror/    `mirror`: copies of topics in other clusters
connect/   `connect`: connectors as a service
log/       `log`: the files of a broker, without a broker
pipeline/  `pipeline`: Spark pipelines
base/      what all commands share: options, exit codes, output
"""
