"""Throttles of moves that nobody has removed: replicas that fall behind catch up slowly."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, warning
from barnabas.quantities import some

_RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


def left_over(facts: Facts) -> Iterator[Finding]:
    if facts.status.moving:
        return
    for node in facts.nodes:
        rates = [name for name in _RATES if name in node.dynamic]
        if rates:
            yield warning(
                "throttles",
                f"node {node.node_id} still throttles replication to {node.configs[rates[0]]} "
                "bytes/s, and nothing is being moved",
                f"barnabas configs unset broker {node.node_id} {' '.join(rates)}",
            )
    topics = [
        topic
        for topic, configs in sorted(facts.topics.items())
        if any(configs.get(name) for name in _REPLICAS)
    ]
    if topics:
        yield warning(
            "throttles",
            f"topics {some(topics)} still name throttled replicas, and nothing is being moved",
            f"barnabas configs unset topic {topics[0]} {' '.join(_REPLICAS)}",
        )
