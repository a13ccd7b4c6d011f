"""`spark.read`: record by record what was sent, and only what was asked for."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import barnabas
import barnabas.spark
from barnabas import TopicPartition
from barnabas.spark.source.batch_reader import FilteringBatchReader
from barnabas.spark.source.options import batch_options
from barnabas.spark.source.schema import schema_of
from barnabas.spark.source.tasks import RangesPartition
from tests.spark.conftest import Read

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)


def send_numbers(producer: barnabas.Producer, topic: str, count: int, partitions: int = 3) -> None:
    """Number i at second i after noon, in one partition after the other."""
    for number in range(count):
        producer.send(
            topic,
            b"%d" % number,
            partition=number % partitions,
            timestamp_ms=NOON_MS + 1000 * number,
        )
    producer.flush()


def test_every_record_comes_as_it_was_sent(read: Read, bootstrap: str, topic: str) -> None:
    sent = []
    for compression in ("none", "lz4", "zstd"):
        with barnabas.Producer(bootstrap, compression=compression) as producer:
            for number in range(200):
                key = None if number % 5 == 0 else b"key-%d" % (number % 17)
                value = None if number % 7 == 0 else b"%s-%d" % (compression.encode(), number)
                headers = [("n", b"%d" % number), ("none", None)] if number % 2 else []
                handle = producer.send(
                    topic, value, key=key, headers=headers, timestamp_ms=NOON_MS + number
                )
                sent.append((key, value, headers, NOON_MS + number, handle))
    rows = read(subscribe=topic, includeHeaders="true").collect()
    got = sorted(
        (
            row.partition,
            row.offset,
            row.topic,
            None if row.key is None else bytes(row.key),
            None if row.value is None else bytes(row.value),
            [(name, None if value is None else bytes(value)) for name, value in row.headers],
            round(row.timestamp.timestamp() * 1000),
            row.timestampType,
        )
        for row in rows
    )
    expected = sorted(
        (place.partition, place.offset, topic, key, value, headers, timestamp_ms, 0)
        for key, value, headers, timestamp_ms, handle in sent
        for place in [handle.result()]
    )
    assert got == expected


def test_a_schema_chooses_columns_and_their_order(
    read: Read, producer: barnabas.Producer, topic: str
) -> None:
    send_numbers(producer, topic, 30)
    frame = read("offset bigint, value binary", subscribe=topic)
    assert frame.columns == ["offset", "value"]
    assert sorted((row.offset, int(row.value)) for row in frame.collect()) == sorted(
        (number // 3, number) for number in range(30)
    )
    with pytest.raises(PySparkException, match="cast it in the query"):
        read("value string", subscribe=topic).collect()


def test_conditions_give_the_same_rows_and_less_is_read(
    read: Read, producer: barnabas.Producer, bootstrap: str, topic: str
) -> None:
    send_numbers(producer, topic, 60)
    frame = read(subscribe=topic)
    found = frame.where(
        f"topic = '{topic}' and partition != 1 and offset >= 5 and offset < 15 "
        "and timestamp >= '2024-05-01T12:00:30Z' and timestamp < '2024-05-01T12:00:40Z' "
        "and value is not null"
    )
    numbers = sorted(int(row.value) for row in found.collect())
    assert numbers == [n for n in range(30, 40) if n % 3 != 1 and 5 <= n // 3 < 15]


def test_what_conditions_leave_out_is_not_even_fetched(
    producer: barnabas.Producer, bootstrap: str, topic: str
) -> None:
    from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, LessThan

    send_numbers(producer, topic, 60)
    options = batch_options({"kafka.bootstrap.servers": bootstrap, "subscribe": topic})
    reader = FilteringBatchReader(options, schema_of(headers=False), parallelism=2)
    reader.pushFilters(
        [
            EqualTo(("partition",), 2),
            LessThan(("offset",), 18),
            GreaterThanOrEqual(("timestamp",), datetime(2024, 5, 1, 12, 0, 30, tzinfo=UTC)),
        ]
    )
    (task,) = reader.partitions()
    assert isinstance(task, RangesPartition)
    (wanted,) = task.ranges
    assert wanted[:3] == (TopicPartition(topic, 2), 10, 18)
    assert sum(batch.num_rows for batch in reader.read(task)) == 8


def test_positions_by_offset_and_by_time(
    read: Read, producer: barnabas.Producer, topic: str
) -> None:
    send_numbers(producer, topic, 60)

    def numbers(**options: str) -> list[int]:
        frame = read(subscribe=topic, **options)
        return sorted(int(row.value) for row in frame.collect())

    starts, ends = {"0": 5, "1": -2, "2": 19}, {"0": -1, "1": 1, "2": 20}
    assert numbers(
        startingOffsets=json.dumps({topic: starts}), endingOffsets=json.dumps({topic: ends})
    ) == sorted([*range(15, 60, 3), 1, 59])
    since, until = str(NOON_MS + 30_000), str(NOON_MS + 40_000)
    assert numbers(startingTimestamp=since, endingTimestamp=until) == list(range(30, 40))
    with pytest.raises(PySparkException, match=r"startingTimestamp: .* has no record that new"):
        numbers(startingTimestamp=str(NOON_MS + 90_000))
    with pytest.raises(PySparkException, match="exactly the partitions that are read"):
        numbers(startingOffsets=json.dumps({topic: {"0": 5}}))


def test_a_large_partition_is_split_and_nothing_is_read_twice(
    read: Read, producer: barnabas.Producer, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(partitions=1)
    send_numbers(producer, topic, 5_000, partitions=1)
    frame = read(subscribe=topic, minPartitions="7")
    assert frame.rdd.getNumPartitions() == 7
    assert sorted(int(row.value) for row in frame.collect()) == list(range(5_000))


def test_only_what_was_committed_unless_all_is_asked_for(
    read: Read, bootstrap: str, topic: str
) -> None:
    with barnabas.Producer(bootstrap, transactional_id=f"id-{topic}") as producer:
        for number in range(4):
            try:
                with producer.transaction():
                    for partition in range(3):
                        producer.send(topic, b"%d" % number, partition=partition)
                    if number % 2:
                        producer.flush()
                        raise RuntimeError("roll back")
            except RuntimeError:
                pass
    rows = read(subscribe=topic).collect()
    assert sorted(int(row.value) for row in rows) == [0, 0, 0, 2, 2, 2]
    everything = read(subscribe=topic, **{"kafka.isolation.level": "read_uncommitted"})
    assert everything.count() == 12


def test_records_that_are_gone_are_told_of(
    read: Read, producer: barnabas.Producer, admin: barnabas.Admin, topic: str
) -> None:
    send_numbers(producer, topic, 30)
    admin.delete_records({TopicPartition(topic, 1): 4})
    all_of_it = json.dumps({topic: {"0": 0, "1": 0, "2": 0}})
    wanted = {"subscribe": topic, "startingOffsets": all_of_it}
    with pytest.raises(PySparkException, match="failOnDataLoss"):
        read(**wanted).collect()
    assert read(**wanted, failOnDataLoss="false").count() == 26
    with pytest.raises(PySparkException, match="no-such-topic"):
        read(subscribe="no-such-topic").collect()


def test_jobs_for_kafka_run_as_they_are(
    spark: SparkSession, producer: barnabas.Producer, bootstrap: str, topic: str
) -> None:
    barnabas.spark.register(spark, name="kafka")
    send_numbers(producer, topic, 3)
    frame = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
        .selectExpr("CAST(value AS STRING)")
    )
    assert sorted(row.value for row in frame.collect()) == ["0", "1", "2"]
