"""Settings that describe the cluster, and on which its nodes disagree."""

from collections import defaultdict
from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, warning
from barnabas.quantities import some

_OF_THE_CLUSTER = (
    "auto.create.topics.enable",
    "default.replication.factor",
    "log.retention.bytes",
    "log.retention.ms",
    "message.max.bytes",
    "min.insync.replicas",
    "num.partitions",
    "offsets.retention.minutes",
    "replica.lag.time.max.ms",
    "socket.request.max.bytes",
    "transaction.max.timeout.ms",
    "unclean.leader.election.enable",
)


def between_nodes(facts: Facts) -> Iterator[Finding]:
    """What holds then depends on which node leads, or controls."""
    for setting in _OF_THE_CLUSTER:
        by_value: defaultdict[str, list[int]] = defaultdict(list)
        for node in facts.nodes:
            value = node.configs.get(setting)
            if value is not None:
                by_value[value].append(node.node_id)
        if len(by_value) > 1:
            said = "; ".join(f"{value} on {some(ids)}" for value, ids in sorted(by_value.items()))
            yield warning(
                "settings",
                f"nodes disagree on {setting}: {said}",
                f"give all nodes the same value: barnabas configs set broker ID {setting}=VALUE, "
                "or in their configuration",
            )
