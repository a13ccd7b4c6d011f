"""Which ranges a batch read has, for each way to name them, asked directly: no Spark needed."""

import json
from collections.abc import Callable

import pytest

import barnabas
from barnabas import TopicPartition
from barnabas.errors import DataLost, InvalidArgument, UnknownTopic
from barnabas.spark.source.batch_reader import FilteringBatchReader
from barnabas.spark.source.options import batch_options
from barnabas.spark.source.schema import schema_of

Plan = Callable[..., dict[tuple[str, int], tuple[int, int]]]


@pytest.fixture
def plan(bootstrap: str) -> Plan:
    """What is read of which partition, of a topic in which record i is of time i."""

    def ranges(**options: str) -> dict[tuple[str, int], tuple[int, int]]:
        given = {"kafka.bootstrap.servers": bootstrap, **options}
        reader = FilteringBatchReader(batch_options(given), schema_of(headers=False), parallelism=1)
        tasks = reader.partitions()
        rows = sum(batch.num_rows for task in tasks for batch in reader.read(task))
        found = {each.partition: (each.start, each.end) for task in tasks for each in task.ranges}
        assert rows == sum(end - start for start, end in found.values())
        return found

    return ranges


def fill(producer: barnabas.Producer, topic: str, counts: dict[int, int]) -> None:
    for partition, count in counts.items():
        for number in range(count):
            producer.send(topic, b"value", partition=partition, timestamp_ms=1_000 + number)
    producer.flush()


def test_partitions_are_assigned(plan: Plan, producer: barnabas.Producer, topic: str) -> None:
    fill(producer, topic, {0: 5, 1: 6, 2: 7})
    assert plan(assign=json.dumps({topic: [0, 2]})) == {(topic, 0): (0, 5), (topic, 2): (0, 7)}
    with pytest.raises(UnknownTopic, match=f"{topic}-3"):
        plan(assign=json.dumps({topic: [3]}))


def test_topics_match_a_pattern_as_a_whole(
    plan: Plan, producer: barnabas.Producer, make_topic: Callable[..., str]
) -> None:
    first = make_topic(1)
    second = make_topic(1, prefix=first)
    fill(producer, first, {0: 2})
    fill(producer, second, {0: 3})
    both = {(first, 0): (0, 2), (second, 0): (0, 3)}
    assert plan(subscribePattern=first) == {(first, 0): (0, 2)}
    assert plan(subscribePattern=f"{first}(-.*)?") == both
    assert plan(subscribe=f"{first},{second}") == both
    assert plan(subscribePattern=f"no-{first}") == {}


def test_offsets_and_times_of_each_partition(
    plan: Plan, producer: barnabas.Producer, topic: str
) -> None:
    fill(producer, topic, {0: 10, 1: 10, 2: 10})
    starts = json.dumps({topic: {"0": -2, "1": 4, "2": 10}})
    ends = json.dumps({topic: {"0": 3, "1": -1, "2": -1}})
    assert plan(subscribe=topic, startingOffsets=starts, endingOffsets=ends) == {
        (topic, 0): (0, 3),
        (topic, 1): (4, 10),
    }
    since = json.dumps({topic: {"0": 0, "1": 1_004, "2": 1_009}})
    until = json.dumps({topic: {"0": 1_003, "1": 9_999, "2": 1_009}})
    assert plan(
        subscribe=topic, startingOffsetsByTimestamp=since, endingOffsetsByTimestamp=until
    ) == {(topic, 0): (0, 3), (topic, 1): (4, 10)}
    ahead = json.dumps({topic: {"0": 9_999, "1": 9_999, "2": 1_008}})
    with pytest.raises(InvalidArgument, match="has no record that new"):
        plan(subscribe=topic, startingOffsetsByTimestamp=ahead)
    assert plan(
        subscribe=topic,
        startingOffsetsByTimestamp=ahead,
        startingOffsetsByTimestampStrategy="latest",
    ) == {(topic, 2): (8, 10)}


def test_what_was_deleted_is_told_of_or_passed_over(
    plan: Plan, producer: barnabas.Producer, admin: barnabas.Admin, topic: str
) -> None:
    fill(producer, topic, {0: 10, 1: 2, 2: 2})
    admin.delete_records({TopicPartition(topic, 0): 4})
    rest = {(topic, 1): (0, 2), (topic, 2): (0, 2)}
    assert plan(subscribe=topic) == {(topic, 0): (4, 10), **rest}
    wanted = {"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 1, "1": 0, "2": 0}})}
    with pytest.raises(DataLost, match=f"{topic}-0 should be read from offset 1.*failOnDataLoss"):
        plan(**wanted)
    assert plan(**wanted, failOnDataLoss="false") == {(topic, 0): (4, 10), **rest}


def test_a_start_behind_the_end_is_told_of_or_passed_over(
    plan: Plan, producer: barnabas.Producer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    fill(producer, topic, {0: 10, 1: 2})
    starts = json.dumps({topic: {"0": 5_000, "1": 1, "2": 0}})
    with pytest.raises(
        DataLost, match=f"{topic}-0 should be read from offset 5000, but ends at 10"
    ):
        plan(subscribe=topic, startingOffsets=starts)
    rest = plan(subscribe=topic, startingOffsets=starts, failOnDataLoss="false")
    assert rest == {(topic, 1): (1, 2)}
    assert "from offset 5000, but ends at 10" in caplog.text
