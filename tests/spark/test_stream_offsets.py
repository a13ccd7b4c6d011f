"""How far a stream goes, asked directly: no Spark needed."""

import time
from collections.abc import Callable

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

import barnabas
from barnabas import TopicPartition
from barnabas.errors import DataLost
from barnabas.spark.options import stream_options
from barnabas.spark.schema import schema_of
from barnabas.spark.stream_reader import StreamReader

ReaderOf = Callable[..., StreamReader]


@pytest.fixture
def reader_of(bootstrap: str) -> ReaderOf:
    def make(**options: str) -> StreamReader:
        given = {"kafka.bootstrap.servers": bootstrap, **options}
        return StreamReader(stream_options(given), schema_of(headers=False), parallelism=2)

    return make


def send(producer: barnabas.Producer, topic: str, *partitions: int) -> None:
    for partition in partitions:
        producer.send(topic, b"value", partition=partition)
    producer.flush()


def test_a_new_stream_begins_at_the_end_and_reports_what_lies_ahead(
    reader_of: ReaderOf, producer: barnabas.Producer, topic: str
) -> None:
    send(producer, topic, 0, 0, 1)
    reader = reader_of(subscribe=topic)
    start = reader.initialOffset()
    assert start == {topic: {"0": 2, "1": 1, "2": 0}}
    assert reader.reportLatestOffset() is None
    send(producer, topic, 2)
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end == reader.reportLatestOffset() == {topic: {"0": 2, "1": 1, "2": 1}}
    (task,) = reader.partitions(start, end)
    assert [batch.num_rows for batch in reader.read(task)] == [1]
    assert reader.partitions(end, end) == []


def test_a_limit_of_spark_s_goes_before_that_of_the_options(
    reader_of: ReaderOf, producer: barnabas.Producer, topic: str
) -> None:
    send(producer, topic, 0, 0, 0, 0)
    reader = reader_of(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="3")
    assert reader.getDefaultReadLimit() == ReadMaxRows(3)
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadMaxRows(3))[topic]["0"] == 3
    assert reader.latestOffset(start, ReadAllAvailable())[topic]["0"] == 4


def test_few_records_are_waited_for_but_not_for_ever(
    reader_of: ReaderOf, producer: barnabas.Producer, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("barnabas.spark.stream_reader.monotonic", lambda: now)
    reader = reader_of(subscribe=topic, minOffsetsPerTrigger="3", maxTriggerDelay="60s")
    start = reader.initialOffset()
    send(producer, topic, 0)
    first = reader.latestOffset(start, ReadAllAvailable())
    assert first[topic]["0"] == 1  # nothing has been read before
    send(producer, topic, 0, 1)
    assert reader.latestOffset(first, ReadAllAvailable()) == first
    now += 61
    late = reader.latestOffset(first, ReadAllAvailable())
    assert late == {topic: {"0": 2, "1": 1, "2": 0}}
    send(producer, topic, 0, 1, 2)
    assert reader.latestOffset(late, ReadAllAvailable()) == {topic: {"0": 3, "1": 2, "2": 1}}


def test_all_that_is_available_now_is_not_what_comes_later(
    reader_of: ReaderOf, producer: barnabas.Producer, topic: str
) -> None:
    send(producer, topic, 0, 1)
    reader = reader_of(subscribe=topic, startingOffsets="earliest")
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    send(producer, topic, 0, 1)
    assert reader.latestOffset(start, ReadAllAvailable()) == {topic: {"0": 1, "1": 1, "2": 0}}


def test_an_open_transaction_is_waited_for(reader_of: ReaderOf, bootstrap: str, topic: str) -> None:
    reader = reader_of(subscribe=topic, startingOffsets="earliest")
    start = reader.initialOffset()
    with barnabas.Producer(bootstrap, transactional_id=topic) as producer:
        with producer.transaction():
            send(producer, topic, 0)
            assert reader.latestOffset(start, ReadAllAvailable()) == start
        deadline = time.monotonic() + 10
        while (end := reader.latestOffset(start, ReadAllAvailable())) == start:
            assert time.monotonic() < deadline  # markers are written after the answer
    (task,) = reader.partitions(start, end)
    assert [batch.num_rows for batch in reader.read(task)] == [1]


def test_a_partition_whose_first_records_are_gone_is_told_of(
    reader_of: ReaderOf, producer: barnabas.Producer, admin: barnabas.Admin, topic: str
) -> None:
    send(producer, topic, 0, 1, 2, 2)
    admin.delete_records({TopicPartition(topic, 2): 1})
    start = {topic: {"0": 0, "1": 0}}
    with pytest.raises(DataLost, match="first 1 offsets are gone"):
        reader_of(subscribe=topic).latestOffset(start, ReadAllAvailable())
    lenient = reader_of(subscribe=topic, failOnDataLoss="false")
    end = lenient.latestOffset(start, ReadAllAvailable())
    (task,) = lenient.partitions(start, end)
    assert sum(batch.num_rows for batch in lenient.read(task)) == 3


def test_progress_goes_on_when_a_group_refuses_it(
    reader_of: ReaderOf,
    producer: barnabas.Producer,
    bootstrap: str,
    topic: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    send(producer, topic, 0)
    with barnabas.Consumer(bootstrap, topic, group=topic) as consumer:
        assert consumer.poll(10)
        reader = reader_of(subscribe=topic, startingOffsets="earliest", groupId=topic)
        end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
        assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert f"not committed to group {topic}" in caplog.text
