"""`spark.readStream`: everything once, also across restarts, limits, new partitions and losses."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import barnabas
from barnabas import TopicPartition
from tests.support import fork_server
from tests.support.wait import wait_until


def send(producer: barnabas.Producer, topic: str, numbers: range, partitions: int = 3) -> None:
    for number in numbers:
        producer.send(topic, b"%d" % number, partition=number % partitions)
    producer.flush()


class Pipeline:
    """A stream into files, which can be started again and again."""

    def __init__(self, spark: SparkSession, bootstrap: str, directory: Path) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._directory = directory

    def start(self, *, available_now: bool = False, **options: Any) -> StreamingQuery:
        reading = self._spark.readStream.format("barnabas").options(
            **{"kafka.bootstrap.servers": self._bootstrap, "startingOffsets": "earliest", **options}
        )
        frame = (
            reading.schema("value binary")
            .load()
            .selectExpr("CAST(CAST(value AS STRING) AS INT) AS number")
        )
        writing = frame.writeStream.format("parquet").option(
            "checkpointLocation", str(self._directory / "checkpoint")
        )
        if available_now:
            writing = writing.trigger(availableNow=True)
        return writing.start(str(self._directory / "output"))

    def run(self, **options: Any) -> list[int]:
        """Read all there is; the rows of each batch."""
        query = self.start(available_now=True, **options)
        query.awaitTermination(60)
        return [each.numInputRows for each in query.recentProgress]

    def numbers(self) -> list[int]:
        """What is in the files that Spark counts as written."""
        found: list[int] = []
        for path in self._files():
            found += pq.read_table(path)["number"].to_pylist()
        return sorted(found)

    def _files(self) -> set[str]:
        entries = (self._directory / "output" / "_spark_metadata").glob("[0-9]*")
        lines = [line for each in entries for line in each.read_text().splitlines()[1:]]
        return {json.loads(line)["path"].removeprefix("file://") for line in lines}


@pytest.fixture
def pipeline(spark: SparkSession, bootstrap: str, tmp_path: Path) -> Pipeline:
    return Pipeline(spark, bootstrap, tmp_path)


def test_all_there_is_in_limited_batches_and_then_the_rest_after_a_restart(
    pipeline: Pipeline,
    producer: barnabas.Producer,
    admin: barnabas.Admin,
    bootstrap: str,
    topic: str,
) -> None:
    send(producer, topic, range(100))
    batches = pipeline.run(subscribe=topic, maxOffsetsPerTrigger=40, groupId=f"group-{topic}")
    assert [rows for rows in batches if rows] == [40, 40, 20]
    assert admin.group_offsets(f"group-{topic}") == admin.offsets(topic)

    send(producer, topic, range(100, 130))
    lag = _groups_describe(f"group-{topic}", bootstrap)
    assert "lag 30" in lag, lag
    pipeline.run(subscribe=topic, groupId=f"group-{topic}")
    assert pipeline.numbers() == list(range(130))
    assert "lag 0" in _groups_describe(f"group-{topic}", bootstrap)


def test_micro_batches_of_about_so_many_bytes(
    pipeline: Pipeline, producer: barnabas.Producer, topic: str
) -> None:
    for number in range(90):
        producer.send(topic, b"%01000d" % number, partition=number % 3)
        producer.flush()  # batches of one record each
    batches = pipeline.run(subscribe=topic, maxBytesPerTrigger="32k")
    assert [rows for rows in batches if rows] == [30, 30, 30]  # a record takes 1,070 bytes
    assert pipeline.numbers() == list(range(90))


def _groups_describe(group: str, bootstrap: str) -> str:
    command = [sys.executable, "-m", "barnabas", "groups", "describe", group]
    return fork_server.run(
        [*command, "--bootstrap", bootstrap], capture_output=True, text=True, check=True
    ).stdout


def test_partitions_and_topics_that_appear_are_read_from_their_beginning(
    pipeline: Pipeline,
    producer: barnabas.Producer,
    admin: barnabas.Admin,
    bootstrap: str,
    make_topic: Callable[..., str],
) -> None:
    topic = make_topic(partitions=1)
    send(producer, topic, range(10), partitions=1)
    query = pipeline.start(subscribePattern=f"{topic}.*")
    try:
        query.processAllAvailable()
        assert pipeline.numbers() == list(range(10))
        admin.add_partitions(topic, 2)
        admin.create_topic(f"{topic}-more", partitions=1)
        with barnabas.Producer(bootstrap) as fresh:
            for number in range(10, 20):
                fresh.send(topic, b"%d" % number, partition=1)
                fresh.send(f"{topic}-more", b"%d" % (number + 10))
        wait_until(lambda: pipeline.numbers() == list(range(30)))
    finally:
        query.stop()


def test_records_deleted_before_they_were_read_stop_the_stream_or_are_passed_over(
    pipeline: Pipeline, producer: barnabas.Producer, admin: barnabas.Admin, topic: str
) -> None:
    send(producer, topic, range(30))
    pipeline.run(subscribe=topic)
    send(producer, topic, range(30, 60))
    admin.delete_records({TopicPartition(topic, 1): 15})  # 31, 34, 37, 40 and 43 were never read
    with pytest.raises(StreamingQueryException, match="retention has deleted records"):
        pipeline.run(subscribe=topic)
    pipeline.run(subscribe=topic, failOnDataLoss="false")
    assert pipeline.numbers() == sorted({*range(60)} - {31, 34, 37, 40, 43})


def test_a_topic_made_anew_is_not_taken_for_the_old_one(
    pipeline: Pipeline,
    producer: barnabas.Producer,
    admin: barnabas.Admin,
    bootstrap: str,
    topic: str,
) -> None:
    def make_anew(numbers: range) -> None:
        """Longer than before each time: offsets alone tell nothing."""
        admin.create_topic(topic, partitions=3)
        with barnabas.Producer(bootstrap) as fresh:
            send(fresh, topic, numbers)

    send(producer, topic, range(30))
    pipeline.run(subscribe=topic)
    admin.delete_topic(topic)
    with pytest.raises(StreamingQueryException, match=topic):
        pipeline.run(subscribe=topic)
    make_anew(range(100, 160))
    with pytest.raises(
        StreamingQueryException, match=f"topic {topic} was deleted and created again"
    ):
        pipeline.run(subscribe=topic)
    query = pipeline.start(subscribe=topic, failOnDataLoss="false")
    try:
        expected = [*range(30), *range(100, 160)]
        wait_until(lambda: pipeline.numbers() == expected)
        admin.delete_topic(topic)
        make_anew(range(200, 290))
        wait_until(lambda: pipeline.numbers() == [*expected, *range(200, 290)])
    finally:
        query.stop()


def test_the_death_of_a_leader_neither_stops_nor_repeats_anything(
    spark: SparkSession, tmp_path: Path
) -> None:
    with barnabas.Cluster(3) as cluster:
        cluster.create_topic("numbers", partitions=2, replication_factor=3)
        pipeline = Pipeline(spark, cluster.bootstrap_servers, tmp_path)
        with barnabas.Producer(cluster.bootstrap_servers) as producer:
            send(producer, "numbers", range(1_000), partitions=2)
            query = pipeline.start(subscribe="numbers", maxOffsetsPerTrigger=300)
            try:
                wait_until(lambda: len(query.recentProgress) > 0)
                cluster.kill(cluster.leader_of("numbers", 0))
                send(producer, "numbers", range(1_000, 2_000), partitions=2)
                wait_until(lambda: len(pipeline.numbers()) >= 2_000)
            finally:
                query.stop()
        assert pipeline.numbers() == list(range(2_000))
