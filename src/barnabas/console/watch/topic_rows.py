"""The list of topics, made once for each sample: searched, sorted and cut into pages here."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.diagnosis.rates import Rates
from barnabas.diagnosis.sample import Sample

Lags = Mapping[str, Mapping[TopicPartition, int]]


class TopicRow(NamedTuple):
    """A topic as a list shows it. `slowest` is the group with most lag, if any reads it."""

    name: str
    internal: bool
    partitions: int
    replication: int
    under_replicated: int
    offline: int
    records: int | None
    records_s: float
    bytes_in_s: float
    size: int
    lag: int | None
    slowest: str | None


SORT_KEYS = ("name", "partitions", "records_s", "bytes_in_s", "size", "lag", "records")


def lags_of(sample: Sample) -> dict[str, dict[TopicPartition, int]]:
    """The lag of each group in each partition that it has committed. Mirrors have none."""
    lags: dict[str, dict[TopicPartition, int]] = {}
    for each in sample.groups:
        if is_of_mirror(each.members.group_id):
            continue
        if each.told_lags is not None:
            lags[each.members.group_id] = dict(each.told_lags)
            continue
        lags[each.members.group_id] = {
            name: max(0, sample.ends[name] - offset)
            for name, offset in each.committed.items()
            if name in sample.ends
        }
    return lags


def topic_rows(sample: Sample, rates: Rates, lags: Lags) -> list[TopicRow]:
    """All topics, in the order of their names."""
    slowest = _slowest(lags)
    records: Counter[str] = Counter()
    for name, end in sample.ends.items():
        records[name.topic] += end
    under: Counter[str] = Counter()
    offline: Counter[str] = Counter()
    replication: dict[str, int] = {}
    for name, each in sample.partitions.items():
        under[name.topic] += len(each.isr) < len(each.replicas)
        offline[name.topic] += each.leader == NO_LEADER
        known = replication.get(name.topic, len(each.replicas))
        replication[name.topic] = min(known, len(each.replicas))
    rows = []
    for row in rates.topics:
        lag, group = slowest.get(row.topic, (None, None))
        rows.append(
            TopicRow(
                row.topic,
                row.topic.startswith("__"),
                row.partitions,
                replication.get(row.topic, 0),
                under[row.topic],
                offline[row.topic],
                records.get(row.topic),
                row.records_s,
                row.bytes_in_s,
                row.size,
                lag,
                group,
            )
        )
    return sorted(rows)


def _slowest(lags: Lags) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for group, partitions in lags.items():
        by_topic: Counter[str] = Counter()
        for name, lag in partitions.items():
            by_topic[name.topic] += lag
        for topic, lag in by_topic.items():
            if topic not in found or (lag, group) > found[topic]:
                found[topic] = (lag, group)
    return found


def select(
    rows: list[TopicRow], *, search: str, internal: bool, sort: str, descending: bool
) -> list[TopicRow]:
    """The rows that match, in order. Words of a search are parts of the name, all of them."""
    words = search.lower().split()
    found = [
        each
        for each in rows
        if (internal or not each.internal) and all(word in each.name.lower() for word in words)
    ]
    if sort == "name":
        return found[::-1] if descending else found

    def value(row: TopicRow) -> float:
        known = getattr(row, sort)
        return -1.0 if known is None else float(known)

    return sorted(found, key=value, reverse=descending)
