"""How far a stream goes, asked directly: no Spark needed."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Timer

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

import barnabas
from barnabas import TopicPartition
from barnabas.errors import DataLost, InvalidArgument, UnknownTopic
from barnabas.spark.source.options import stream_options
from barnabas.spark.source.schema import schema_of
from barnabas.spark.source.stream_position import Json, position_of
from barnabas.spark.source.stream_reader import StreamReader
from tests.support.wait import wait_until

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


def offsets(kept: Json) -> Json:
    """Without the ids of topics."""
    return {name: each for name, each in kept.items() if "@" not in name}


def make_anew(admin: barnabas.Admin, topic: str) -> None:
    admin.delete_topic(topic)
    admin.create_topic(topic, partitions=3)


def test_a_new_stream_begins_at_the_end_and_reports_what_lies_ahead(
    reader_of: ReaderOf, producer: barnabas.Producer, topic: str
) -> None:
    send(producer, topic, 0, 0, 1)
    reader = reader_of(subscribe=topic)
    start = reader.initialOffset()
    assert offsets(start) == {topic: {"0": 2, "1": 1, "2": 0}}
    assert reader.reportLatestOffset() is None
    send(producer, topic, 2)
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end == reader.reportLatestOffset()
    assert offsets(end) == {topic: {"0": 2, "1": 1, "2": 1}}
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
    monkeypatch.setattr("barnabas.spark.source.stream_reader.monotonic", lambda: now)
    reader = reader_of(subscribe=topic, minOffsetsPerTrigger="3", maxTriggerDelay="60s")
    start = reader.initialOffset()
    send(producer, topic, 0)
    first = reader.latestOffset(start, ReadAllAvailable())
    assert first[topic]["0"] == 1  # nothing has been read before
    send(producer, topic, 0, 1)
    assert reader.latestOffset(first, ReadAllAvailable()) == first
    now += 61
    late = reader.latestOffset(first, ReadAllAvailable())
    assert offsets(late) == {topic: {"0": 2, "1": 1, "2": 0}}
    send(producer, topic, 0, 1, 2)
    assert offsets(reader.latestOffset(late, ReadAllAvailable())) == {
        topic: {"0": 3, "1": 2, "2": 1}
    }


def test_all_that_is_available_now_is_not_what_comes_later(
    reader_of: ReaderOf, producer: barnabas.Producer, topic: str
) -> None:
    send(producer, topic, 0, 1)
    reader = reader_of(subscribe=topic, startingOffsets="earliest")
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    send(producer, topic, 0, 1)
    assert offsets(reader.latestOffset(start, ReadAllAvailable())) == {
        topic: {"0": 1, "1": 1, "2": 0}
    }


def test_an_open_transaction_is_waited_for(reader_of: ReaderOf, bootstrap: str, topic: str) -> None:
    reader = reader_of(subscribe=topic, startingOffsets="earliest")
    start = reader.initialOffset()
    with barnabas.Producer(bootstrap, transactional_id=topic) as producer:
        with producer.transaction():
            send(producer, topic, 0)
            assert reader.latestOffset(start, ReadAllAvailable()) == start
        wait_until(  # markers are written after the answer
            lambda: reader.latestOffset(start, ReadAllAvailable()) != start
        )
        end = reader.latestOffset(start, ReadAllAvailable())
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
        assert consumer.poll(60)
        reader = reader_of(subscribe=topic, startingOffsets="earliest", groupId=topic)
        end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
        assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert f"not committed to group {topic}" in caplog.text


def test_a_topic_made_anew_is_not_taken_for_the_old_one_however_long_it_is(
    reader_of: ReaderOf,
    bootstrap: str,
    producer: barnabas.Producer,
    admin: barnabas.Admin,
    topic: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    send(producer, topic, 0, 1)
    reached = reader_of(subscribe=topic).initialOffset()
    make_anew(admin, topic)
    with barnabas.Producer(bootstrap) as fresh:
        send(fresh, topic, 0, 0, 0, 1, 1)
    with pytest.raises(
        DataLost, match=f"topic {topic} was deleted and created again.*failOnDataLoss"
    ):
        reader_of(subscribe=topic).latestOffset(reached, ReadAllAvailable())
    lenient = reader_of(subscribe=topic, failOnDataLoss="false")
    end = lenient.latestOffset(reached, ReadAllAvailable())
    assert f"topic {topic} was deleted and created again" in caplog.text
    (task,) = lenient.partitions(reached, end)
    assert sum(batch.num_rows for batch in lenient.read(task)) == 5
    assert lenient.latestOffset(end, ReadAllAvailable()) == end
    replaying = reader_of(subscribe=topic)  # what was planned is planned again after a crash
    assert replaying.partitions(reached, end)[0].ranges == task.ranges


def test_what_was_planned_is_never_read_from_another_topic_of_that_name(
    reader_of: ReaderOf,
    bootstrap: str,
    producer: barnabas.Producer,
    admin: barnabas.Admin,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("barnabas.client.consumer.range_reader._TOPIC_PATIENCE_S", 0.2)
    send(producer, topic, 0, 1)
    strict = reader_of(subscribe=topic, startingOffsets="earliest")
    lenient = reader_of(subscribe=topic, startingOffsets="earliest", failOnDataLoss="false")
    start = strict.initialOffset()
    end = strict.latestOffset(start, ReadAllAvailable())
    (task,) = strict.partitions(start, end)
    make_anew(admin, topic)
    with barnabas.Producer(bootstrap) as fresh:
        send(fresh, topic, 0, 0, 1, 1)
    with pytest.raises(
        DataLost, match=f"{topic}-0.* no longer exist: its topic was deleted and created again"
    ):
        list(strict.read(task))
    assert list(lenient.read(task)) == []
    assert "deleted and created again" in caplog.text
    after = lenient.latestOffset(end, ReadAllAvailable())
    (task,) = lenient.partitions(end, after)
    assert sum(batch.num_rows for batch in lenient.read(task)) == 4


def test_a_topic_made_anew_between_two_looks_at_the_cluster(
    reader_of: ReaderOf,
    producer: barnabas.Producer,
    admin: barnabas.Admin,
    topic: str,
) -> None:
    send(producer, topic, 0, 0)
    seldom = {"kafka.metadata.max.age.ms": "1000000"}
    reader = reader_of(subscribe=topic, startingOffsets="earliest", **seldom)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    make_anew(admin, topic)
    with pytest.raises(DataLost, match="deleted and created again"):
        reader.latestOffset(end, ReadAllAvailable())


def test_checkpoints_without_ids_are_continued(
    reader_of: ReaderOf,
    producer: barnabas.Producer,
    admin: barnabas.Admin,
    topic: str,
) -> None:
    send(producer, topic, 0, 0, 1)
    old = {topic: {"0": 1, "1": 0, "2": 0}}
    reader = reader_of(subscribe=topic)
    end = reader.latestOffset(old, ReadAllAvailable())
    (task,) = reader.partitions(old, end)
    assert sum(batch.num_rows for batch in reader.read(task)) == 2
    assert position_of("it", end).topic_ids == {topic: admin.describe_topic(topic).topic_id}
    assert position_of("it", end).json() == end
    (task,) = reader.partitions(old, offsets(end))  # a batch that was planned without
    assert sum(batch.num_rows for batch in reader.read(task)) == 2
    too_far = {topic: {"0": 5, "1": 0, "2": 0}}
    with pytest.raises(DataLost, match="created again"):
        reader.latestOffset(too_far, ReadAllAvailable())
    with pytest.raises(InvalidArgument, match="not the id of a topic"):
        reader.latestOffset({**old, f"{topic}@id": {"0": 1}}, ReadAllAvailable())


def test_a_batch_of_nothing_but_markers_and_what_was_rolled_back(
    reader_of: ReaderOf, bootstrap: str, topic: str
) -> None:
    reader = reader_of(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="1")
    start = reader.initialOffset()
    with (
        barnabas.Producer(bootstrap, transactional_id=topic) as producer,
        suppress(LookupError),
        producer.transaction(),
    ):
        send(producer, topic, 0, 0)
        raise LookupError
    wait_until(  # markers are written after the answer
        lambda: offsets(reader.latestOffset(start, ReadAllAvailable()))[topic]["0"] >= 3
    )
    end = reader.latestOffset(start, ReadAllAvailable())
    assert offsets(end) == {topic: {"0": 3, "1": 0, "2": 0}}  # two records and a marker
    for _ in range(3):  # each of them a batch of its own
        end = reader.latestOffset(start, ReadMaxRows(1))
        (task,) = reader.partitions(start, end)
        assert sum(batch.num_rows for batch in reader.read(task)) == 0
        start = end
    assert reader.latestOffset(start, ReadMaxRows(1)) == start


def test_an_assignment_stays_as_it_is(
    reader_of: ReaderOf, producer: barnabas.Producer, admin: barnabas.Admin, topic: str
) -> None:
    send(producer, topic, 0, 1, 2)
    assigned = json.dumps({topic: [0, 2]})
    starts = json.dumps({topic: {"0": -2, "2": 1}})
    reader = reader_of(assign=assigned, startingOffsets=starts)
    start = reader.initialOffset()
    assert offsets(start) == {topic: {"0": 0, "2": 1}}
    admin.add_partitions(topic, 4)
    assert offsets(reader.latestOffset(start, ReadAllAvailable())) == {topic: {"0": 1, "2": 1}}
    with pytest.raises(UnknownTopic, match=f"{topic}-9"):
        reader_of(assign=json.dumps({topic: [9]})).initialOffset()


def test_a_stream_does_not_begin_behind_the_end_in_silence(
    reader_of: ReaderOf,
    producer: barnabas.Producer,
    topic: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    send(producer, topic, 0, 0)
    wanted = {
        "assign": json.dumps({topic: [0]}),
        "startingOffsets": f'{{"{topic}": {{"0": 5000}}}}',
    }
    complaint = f"{topic}-0 should be read from offset 5000, but has 0 to 2"
    with pytest.raises(DataLost, match=complaint):
        reader_of(**wanted).initialOffset()
    start = reader_of(**wanted, failOnDataLoss="false").initialOffset()
    assert offsets(start) == {topic: {"0": 0}}
    assert complaint in caplog.text


def test_streams_begin_at_times(
    reader_of: ReaderOf, producer: barnabas.Producer, topic: str
) -> None:
    for number in range(6):
        producer.send(topic, b"value", partition=number % 2, timestamp_ms=1_000 + number)
    producer.flush()
    by_partition = json.dumps({topic: {"0": 1_002, "1": 1_002, "2": 1_002}})
    with pytest.raises(InvalidArgument, match=f"{topic}-2 has no record that new"):
        reader_of(subscribe=topic, startingOffsetsByTimestamp=by_partition).initialOffset()
    latest = {"startingOffsetsByTimestampStrategy": "latest"}
    for given in ({"startingOffsetsByTimestamp": by_partition}, {"startingTimestamp": "1002"}):
        reader = reader_of(subscribe=topic, **given, **latest)
        assert offsets(reader.initialOffset()) == {topic: {"0": 1, "1": 1, "2": 0}}


def test_a_stream_is_read_by_as_many_tasks_as_are_asked_for(
    reader_of: ReaderOf, producer: barnabas.Producer, topic: str
) -> None:
    send(producer, topic, *[0] * 10)
    for option in ({"minPartitions": "4"}, {"maxRecordsPerPartition": "3"}):
        reader = reader_of(subscribe=topic, startingOffsets="earliest", **option)
        start = reader.initialOffset()
        tasks = reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))
        assert len(tasks) == 4
        assert sum(batch.num_rows for task in tasks for batch in reader.read(task)) == 10


def test_an_idle_stream_waits_for_a_record(
    reader_of: ReaderOf, producer: barnabas.Producer, topic: str
) -> None:
    reader = reader_of(subscribe=topic, idleWait="600s")
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable()) == start, "the first time at once"
    sending = Timer(0.3, send, (producer, topic, 1))
    sending.start()
    end = reader.latestOffset(start, ReadAllAvailable())
    sending.join()
    assert offsets(end) == {topic: {"0": 0, "1": 1, "2": 0}}
    began = time.monotonic()
    time.sleep(0.1)
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert time.monotonic() - began < 300, "Spark had something to do meanwhile: no wait"


def test_an_idle_stream_answers_after_its_wait(reader_of: ReaderOf, topic: str) -> None:
    reader = reader_of(subscribe=topic, idleWait="300ms")
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    began = time.monotonic()
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    assert time.monotonic() - began >= 0.25


def test_a_bounded_stream_does_not_wait(reader_of: ReaderOf, topic: str) -> None:
    reader = reader_of(subscribe=topic, idleWait="600s")
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    began = time.monotonic()
    for _ in range(3):
        assert reader.latestOffset(start, ReadAllAvailable()) == start
    assert time.monotonic() - began < 300
