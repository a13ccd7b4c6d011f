"""The command `barnabas`. Modules import what is heavy inside their commands: `--help` is fast.

app        all commands, and the options before them
server/    `server`: a node, or a whole cluster on this machine
cluster/   `cluster`: status, membership, moves of replicas, elections
admin/     `topics`, `groups`, `configs`, `transactions`, `profile`
records/   `produce`, `consume` and `get`
console/   `console`: the web console
log/       `log`: the files of a broker, without a broker
pipeline/  `pipeline`: Spark pipelines
base/      what all commands share: options, exit codes, output
"""
