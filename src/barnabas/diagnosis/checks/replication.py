"""Settings of replication that contradict each other, or promise less than they seem to."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, critical, note, warning
from barnabas.quantities import counted, some

_MIN_ISR = "min.insync.replicas"
_UNCLEAN = "unclean.leader.election.enable"
_INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_SAFE = 3


def min_isr_above_factor(facts: Facts) -> Iterator[Finding]:
    for topic in sorted(facts.topics):
        factor, min_isr = facts.replication_factor(topic), facts.number(topic, _MIN_ISR)
        if factor and min_isr is not None and min_isr > factor:
            yield critical(
                "settings",
                f"topic {topic}: min.insync.replicas={min_isr} with a replication factor of "
                f"{factor}: every write with acks=all fails",
                f"barnabas configs set topic {topic} {_MIN_ISR}={max(1, factor - 1)}",
            )


def min_isr_without_spare(facts: Facts) -> Iterator[Finding]:
    topics = [
        topic
        for topic in sorted(facts.topics)
        if facts.replication_factor(topic) == facts.number(topic, _MIN_ISR) != 1
    ]
    if topics:
        yield warning(
            "settings",
            f"topics {some(topics)}: min.insync.replicas equals the replication factor, so one "
            "node that restarts stops their writes",
            f"barnabas configs set topic {topics[0]} {_MIN_ISR}="
            f"{facts.replication_factor(topics[0]) - 1}",
        )


def min_isr_of_one(facts: Facts) -> Iterator[Finding]:
    """Where two would cost nothing: with three replicas, one may still be away."""
    topics = [
        topic
        for topic in sorted(facts.topics)
        if facts.replication_factor(topic) >= _SAFE and facts.number(topic, _MIN_ISR) == 1
    ]
    if topics:
        yield note(
            "settings",
            f"topics {some(topics)} have {_MIN_ISR}=1: while the other replicas are behind, a "
            "record that was acknowledged with acks=all is on one disk only",
            f"barnabas configs set topic {topics[0]} {_MIN_ISR}=2",
        )


def single_replicas(facts: Facts) -> Iterator[Finding]:
    if len(facts.status.nodes) < 2:
        return
    topics = [
        topic
        for topic in sorted(facts.topics)
        if facts.replication_factor(topic) == 1 and topic not in _INTERNAL
    ]
    if topics:
        yield note(
            "settings",
            f"topics {some(topics)} have one replica: the loss of a disk loses their records",
            f"barnabas cluster move {topics[0]} --to ID,ID,ID",
        )


def internal_topics(facts: Facts) -> Iterator[Finding]:
    """Few replicas of these stop all groups or transactions when a node is down."""
    wanted = min(_SAFE, len(facts.status.nodes))
    for topic in _INTERNAL:
        factor = facts.replication_factor(topic)
        if topic in facts.topics and 0 < factor < wanted:
            yield warning(
                "settings",
                f"{topic} has a replication factor of {factor} in a cluster of "
                f"{counted(len(facts.status.nodes), 'node')}",
                f"barnabas cluster move {topic} --to {','.join('ID' for _ in range(wanted))}",
            )


def unclean_elections(facts: Facts) -> Iterator[Finding]:
    topics = [
        topic for topic, configs in sorted(facts.topics.items()) if configs.get(_UNCLEAN) == "true"
    ]
    if topics:
        yield warning(
            "settings",
            f"topics {some(topics)}: {_UNCLEAN}=true loses acknowledged records when all replicas "
            "in sync are down",
            f"barnabas configs set topic {topics[0]} {_UNCLEAN}=false",
        )
