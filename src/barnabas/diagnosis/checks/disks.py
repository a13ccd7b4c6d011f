"""Data directories: those that have failed, and disks that fill up."""

from collections import Counter
from collections.abc import Iterator, Mapping

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, critical, warning
from barnabas.quantities import human_size

_CRITICAL_PERCENT = 95


def failed(facts: Facts) -> Iterator[Finding]:
    for each in facts.directories:
        if each.error is not None:
            yield critical(
                "disks",
                f"node {each.node_id}: {each.path} has failed ({each.error})",
                f"replace the disk and restart node {each.node_id}; its replicas are copied again",
            )


def full(facts: Facts) -> Iterator[Finding]:
    for each in facts.directories:
        if not each.total_bytes or each.usable_bytes is None:
            continue
        percent = 100 - 100 * each.usable_bytes // each.total_bytes
        if percent < min(facts.limits.disk_percent, _CRITICAL_PERCENT):
            continue
        largest = _largest_topic(each.sizes)
        shorten = (
            f"barnabas configs set topic {largest} retention.bytes=BYTES"
            if largest
            else "delete what else is on it"
        )
        yield (critical if percent >= _CRITICAL_PERCENT else warning)(
            "disks",
            f"node {each.node_id}: the disk of {each.path} is {percent} % full, "
            f"{human_size(each.usable_bytes)} left",
            f"{shorten}, add disk, or move replicas off: barnabas cluster move",
        )


def _largest_topic(sizes: Mapping[TopicPartition, int]) -> str | None:
    by_topic: Counter[str] = Counter()
    for partition, size in sizes.items():
        by_topic[partition.topic] += size
    return max(by_topic, key=by_topic.__getitem__, default=None)
