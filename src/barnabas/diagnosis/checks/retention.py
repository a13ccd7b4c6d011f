"""Retention and compaction beside the segments that they work on."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, note, warning
from barnabas.quantities import some


def shorter_than_segment(facts: Facts) -> Iterator[Finding]:
    """Only whole segments are deleted, and a segment is as old as its last record."""
    topics = [topic for topic in sorted(facts.topics) if _is_shorter(facts, topic)]
    if topics:
        retention = facts.number(topics[0], "retention.ms")
        yield note(
            "settings",
            f"topics {some(topics)}: retention.ms is below segment.ms, so records are kept longer "
            "than retention.ms says",
            f"barnabas configs set topic {topics[0]} segment.ms={retention}",
        )


def _is_shorter(facts: Facts, topic: str) -> bool:
    retention, segment = facts.number(topic, "retention.ms"), facts.number(topic, "segment.ms")
    if retention is None or segment is None or retention < 0:
        return False
    policy = facts.topics[topic].get("cleanup.policy") or ""
    return "delete" in policy and retention < segment


def compaction_lag(facts: Facts) -> Iterator[Finding]:
    for topic in sorted(facts.topics):
        least = facts.number(topic, "min.compaction.lag.ms")
        most = facts.number(topic, "max.compaction.lag.ms")
        if least is not None and most is not None and least > most:
            yield warning(
                "settings",
                f"topic {topic}: min.compaction.lag.ms={least} is above "
                f"max.compaction.lag.ms={most}",
                f"barnabas configs set topic {topic} min.compaction.lag.ms={most}",
            )
