"""Conditions that are decided before anything is read, and those that are left to Spark."""

from datetime import UTC, datetime

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.spark.source.filters import PushedFilters


def pushed(*conditions: Filter) -> tuple[PushedFilters, list[Filter]]:
    filters = PushedFilters()
    return filters, filters.push(conditions)


def test_topics_and_partitions_are_decided_here() -> None:
    filters, left = pushed(
        In(("topic",), ("orders", "clicks")),
        Not(EqualTo(("partition",), 1)),
        LessThan(("partition",), 4),
        IsNotNull(("topic",)),
    )
    assert not left
    named = [("orders", 0), ("orders", 1), ("clicks", 3), ("clicks", 4), ("other", 0)]
    assert [filters.includes(TopicPartition(*each)) for each in named] == [
        True,
        False,
        True,
        False,
        False,
    ]
    by_name, left = pushed(StringStartsWith(("topic",), "ord"))
    assert not left
    assert by_name.includes(TopicPartition("orders", 0))
    assert not by_name.includes(TopicPartition("word", 0))


def test_offsets_are_bounded_and_lists_of_them_left_too() -> None:
    a_list = In(("offset",), (7, 5, 30))
    filters, left = pushed(
        GreaterThan(("offset",), 3),
        LessThanOrEqual(("offset",), 20),
        a_list,
        GreaterThanOrEqual(("offset",), 2),
    )
    assert (filters.min_offset, filters.end_offset) == (5, 21)
    assert left == [a_list]
    exact, left = pushed(EqualTo(("offset",), 9))
    assert (exact.min_offset, exact.end_offset) == (9, 10)
    assert not left


def test_times_only_bound_from_below_and_stay_with_spark() -> None:
    when = datetime(2024, 1, 1, 0, 0, 0, 999, tzinfo=UTC)
    since, until = GreaterThan(("timestamp",), when), LessThan(("timestamp",), when)
    filters, left = pushed(since, until)
    assert filters.min_timestamp_ms == 1_704_067_200_000
    assert filters.end_offset is None
    assert left == [since, until]


def test_the_rest_is_left_to_spark() -> None:
    conditions = [
        EqualTo(("key",), b"a"),
        IsNotNull(("value",)),
        Not(EqualTo(("offset",), 3)),
        EqualTo(("headers", "key"), "topic"),
    ]
    filters, left = pushed(*conditions)
    assert left == conditions
    assert (filters.min_offset, filters.end_offset, filters.min_timestamp_ms) == (0, None, None)
