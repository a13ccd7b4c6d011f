"""Filters of a query that reduce what is read.

    topic, partition    which logs: decided here
    offset              which part of them: decided here, but for lists and inequalities
    timestamp           records older than a bound are not read. Spark filters the rest again:
                        times in a log may be out of order, so a record that is too new says
                        nothing about those after it

Conditions on keys, values and headers stay with Spark.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.records.columns.schema import OFFSET, PARTITION, TIMESTAMP, TOPIC

_NEVER_NULL = (TOPIC, PARTITION, OFFSET, TIMESTAMP)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class PushedFilters:
    """Conditions that records have to meet to be read."""

    def __init__(self) -> None:
        self._of_partitions: list[Filter] = []
        self.min_offset = 0
        self.end_offset: int | None = None
        self.min_timestamp_ms: int | None = None

    def push(self, filters: Iterable[Filter]) -> list[Filter]:
        """Accept filters; returns those that Spark has to apply."""
        return [each for each in filters if not self._decides(each)]

    def includes(self, partition: TopicPartition) -> bool:
        return all(_holds(each, partition) for each in self._of_partitions)

    def _decides(self, condition: Filter) -> bool:
        inner = condition.child if isinstance(condition, Not) else condition
        name = _column_of(inner)
        if isinstance(condition, IsNotNull):
            return name in _NEVER_NULL
        if name in (TOPIC, PARTITION):
            if not isinstance(inner, _ON_PARTITIONS):
                return False
            self._of_partitions.append(condition)
            return True
        if name == OFFSET:
            return self._bounds_offset(condition)
        if name == TIMESTAMP:
            self._bound_timestamp(condition)
        return False

    def _bounds_offset(self, condition: Filter) -> bool:
        match condition:
            case EqualTo(value=offset) | EqualNullSafe(value=offset):
                self._bound_offsets(offset, offset + 1)
            case GreaterThan(value=offset):
                self._bound_offsets(offset + 1, None)
            case GreaterThanOrEqual(value=offset):
                self._bound_offsets(offset, None)
            case LessThan(value=offset):
                self._bound_offsets(0, offset)
            case LessThanOrEqual(value=offset):
                self._bound_offsets(0, offset + 1)
            case In(value=offsets):
                known = [each for each in offsets if each is not None]
                self._bound_offsets(min(known, default=0), max(known, default=-1) + 1)
                return False
            case _:
                return False
        return True

    def _bound_offsets(self, first: int, end: int | None) -> None:
        self.min_offset = max(self.min_offset, first)
        if end is not None:
            self.end_offset = end if self.end_offset is None else min(self.end_offset, end)

    def _bound_timestamp(self, condition: Filter) -> None:
        match condition:
            case (
                EqualTo(value=datetime() as when)
                | EqualNullSafe(value=datetime() as when)
                | GreaterThan(value=datetime() as when)
                | GreaterThanOrEqual(value=datetime() as when)
            ) if when.tzinfo is not None:
                timestamp_ms = (when - _EPOCH) // timedelta(milliseconds=1)
                self.min_timestamp_ms = max(self.min_timestamp_ms or 0, timestamp_ms)


_ON_PARTITIONS = (
    EqualTo,
    EqualNullSafe,
    In,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
    StringEndsWith,
    StringContains,
)


def _column_of(condition: Filter) -> str | None:
    path: tuple[str, ...] = getattr(condition, "attribute", ())
    return path[0] if len(path) == 1 else None


def _holds(condition: Filter, partition: TopicPartition) -> bool:
    if isinstance(condition, Not):
        return not _holds(condition.child, partition)
    found = partition.topic if _column_of(condition) == TOPIC else partition.partition
    match condition:
        case EqualTo(value=value) | EqualNullSafe(value=value):
            return bool(found == value)
        case In(value=values):
            return found in values
        case GreaterThan(value=value):
            return bool(found > value)
        case GreaterThanOrEqual(value=value):
            return bool(found >= value)
        case LessThan(value=value):
            return bool(found < value)
        case LessThanOrEqual(value=value):
            return bool(found <= value)
        case StringStartsWith(value=value):
            return str(found).startswith(value)
        case StringEndsWith(value=value):
            return str(found).endswith(value)
        case StringContains(value=value):
            return value in str(found)
    raise AssertionError(f"{condition} was taken and is not understood")
