"""The list of groups, made once for each sample."""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.diagnosis.rates import Rates
from barnabas.diagnosis.sample import Sample


class GroupRow(NamedTuple):
    """A group as a list shows it. `lag` is None if it has none, as those of mirrors."""

    id: str
    type: str
    state: str
    topics: list[str]
    read_s: float
    lag: int | None


SORT_KEYS = ("id", "type", "state", "read_s", "lag")


def group_rows(
    sample: Sample, rates: Rates, lags: Mapping[str, Mapping[TopicPartition, int]]
) -> list[GroupRow]:
    """All groups, in the order of their ids."""
    read = {row.group_id: row.read_s for row in rates.groups}
    return sorted(
        GroupRow(
            each.members.group_id,
            each.members.group_type.value or "unknown",
            each.members.state,
            sorted({name.topic for name in each.committed}),
            read.get(each.members.group_id, 0.0),
            _lag(lags.get(each.members.group_id)),
        )
        for each in sample.groups
    )


def _lag(by_partition: Mapping[TopicPartition, int] | None) -> int | None:
    return None if by_partition is None else sum(by_partition.values())


def select(
    rows: list[GroupRow], *, search: str, kind: str, sort: str, descending: bool
) -> list[GroupRow]:
    """The rows that match, in order; words of a search are parts of the id or of a topic."""
    words = search.lower().split()
    found = [
        each
        for each in rows
        if (not kind or each.type == kind)
        and all(any(word in name.lower() for name in (each.id, *each.topics)) for word in words)
    ]

    def value(row: GroupRow) -> float | str | list[str]:
        known: float | str | list[str] | None = getattr(row, sort)
        return -1 if known is None else known

    return sorted(found, key=value, reverse=descending)
