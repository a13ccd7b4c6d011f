"""Logs with holes: compaction leaves offsets out, many in a row; no Spark needed."""

from collections.abc import Iterator
from time import time

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

import barnabas
from barnabas.spark.source.batch_reader import FilteringBatchReader
from barnabas.spark.source.options import batch_options, stream_options
from barnabas.spark.source.schema import schema_of
from barnabas.spark.source.stream_reader import StreamReader
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

RECORDS = 100
KEYS = 5


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """It compacts at once."""
    settings = {"log.cleaner.backoff.ms": "100", "log.segment.delete.delay.ms": "0"}
    with BrokerProcess(tmp_path_factory.mktemp("compacting"), settings) as broker:
        yield broker


def test_holes_are_read_over(broker: BrokerProcess) -> None:
    configs = {"cleanup.policy": "compact", "segment.bytes": 2_000, "max.compaction.lag.ms": 1_000}
    with barnabas.Admin(broker.bootstrap) as admin:
        admin.create_topic("t", partitions=1, configs=configs)
    long_ago_ms = int(time() * 1000) - 60_000
    with barnabas.Producer(broker.bootstrap) as producer:
        for number in range(RECORDS):
            producer.send(
                "t", b"%d" % number * 50, key=b"%d" % (number % KEYS), timestamp_ms=long_ago_ms
            )
            if number % 7 == 0:
                producer.flush()
        producer.flush()
        producer.send("t", b"last", key=b"last")  # what was last so far can be compacted now
    last_of_each_key = [*range(RECORDS - KEYS, RECORDS), RECORDS]
    wait_until(lambda: batch_offsets(broker) == last_of_each_key, "the topic is not compacted")
    expected = last_of_each_key  # in one step or in several: no more is removed now
    assert batch_offsets(broker, minPartitions="20") == expected

    given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "t"}
    options = stream_options({**given, "startingOffsets": "earliest"})
    reader = StreamReader(options, schema_of(headers=False), parallelism=2)
    start, found, batches = reader.initialOffset(), [], 0
    while (end := reader.latestOffset(start, ReadMaxRows(4))) != start:
        for task in reader.partitions(start, end):
            for batch in reader.read(task):
                found += batch.column("offset").to_pylist()
        start, batches = end, batches + 1
    assert found == expected
    assert batches == -(-(RECORDS + 1) // 4), "those of holes alone are batches as well"


def batch_offsets(broker: BrokerProcess, **options: str) -> list[int]:
    """What a batch read finds."""
    given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "t", **options}
    reader = FilteringBatchReader(batch_options(given), schema_of(headers=False), parallelism=2)
    return [
        offset
        for task in reader.partitions()
        for batch in reader.read(task)
        for offset in batch.column("offset").to_pylist()
    ]
