"""Reading from Spark: rows a second, and what they cost, vs. Spark's own Kafka connector.

read            `spark.read` of a whole topic of four partitions into nothing
stream          `spark.readStream` of the topic in four micro-batches, into nothing; the seconds are
                those of its triggers, the CPU includes the query's start
shares          of the CPU of `read`
read, values    the values alone: a schema names them, so that nothing else is decoded
partitions      `read` of topics of 1 to 8 partitions
micro-batch     from a trigger's start to its end, of ten records each, into nothing

`spark_side` says how it is measured, and where Spark's own connector comes from.
"""

from functools import partial

from pyspark.sql import SparkSession

import barnabas
from barnabas.spark.source.batch_reader import FilteringBatchReader
from barnabas.spark.source.options import batch_options
from barnabas.spark.source.schema import schema_of
from benchmarks.bench import TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender
from benchmarks.spark_side import (
    FORMATS,
    PARTITIONS,
    compare,
    connectors,
    drained,
    fill,
    running,
    session,
    shares,
    small_batches_ms,
    timed,
)

_AIM = 2.0
_SIZES = {100: 200, 1_000: 400}
"""Megabytes, by the size of values."""


def measure(bench: Bench) -> list[Row]:
    names = connectors(bench.console)
    rows: list[Row] = []
    with session() as spark:
        for size, megabytes in _SIZES.items():
            count = megabytes * 1_000_000 // size // (4 if bench.quick else 1)
            with Contender(BARNABAS).running(TOPIC, PARTITIONS) as broker:
                fill(broker, size, count)
                rows += _reads(bench, spark, broker, names, size, count)
        with Contender(BARNABAS).running(TOPIC, PARTITIONS) as broker:
            rows += _scaling(bench, spark, broker, names)
            took = {name: micro_batch_ms(spark, broker, name) for name in names}
            rows.append(Row("micro-batch, 10 records", "ms", took))
    return rows


def _reads(
    bench: Bench, spark: SparkSession, broker: Broker, names: list[str], size: int, count: int
) -> list[Row]:
    read, cost = compare(
        bench, broker, f"read, {size} B", count,
        dict.fromkeys(names, lambda name: batch_read(spark, broker, name)), aim=_AIM,
    )  # fmt: skip
    stream, _ = compare(
        bench, broker, f"stream, {size} B", count,
        dict.fromkeys(names, lambda name: stream_read(spark, broker, name, count)), aim=_AIM,
    )  # fmt: skip
    values, _ = compare(
        bench, broker, f"read, values, {size} B", count,
        {BARNABAS: lambda name: batch_read(spark, broker, name, schema="value binary")},
    )  # fmt: skip
    alone = timed(broker, lambda: read_without_spark(broker, count))
    return [*read, *stream, *shares(f"read, {size} B", cost, alone), *values]


def _scaling(bench: Bench, spark: SparkSession, broker: Broker, names: list[str]) -> list[Row]:
    """Both have two cores, whatever there are of partitions."""
    count = 250_000 if bench.quick else 1_000_000
    rows: list[Row] = []
    for partitions in (1, 2, 4, 8):
        topic = f"{TOPIC}-{partitions}"
        with barnabas.Admin(broker.bootstrap) as admin:
            admin.create_topic(topic, partitions=partitions)
        fill(broker, 100, count, topic)
        speeds = {}
        for name in names:
            with bench.console.status(f"{partitions} partitions: {name}"):
                cost = timed(broker, partial(batch_read, spark, broker, name, topic))
            speeds[name] = count / cost.elapsed / 1e6
        rows.append(Row(f"read, 100 B, partitions: {partitions}", "M/s", speeds))
    return rows


def batch_read(
    spark: SparkSession, broker: Broker, name: str, topic: str = TOPIC, *, schema: str | None = None
) -> None:
    reader = spark.read.format(FORMATS[name])
    if schema is not None:
        reader = reader.schema(schema)
    frame = reader.options(**_options(broker, topic)).load()
    frame.write.format("noop").mode("overwrite").save()


def stream_read(spark: SparkSession, broker: Broker, name: str, count: int) -> float:
    options = _options(broker) | {
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(count // 4),
    }
    frame = spark.readStream.format(FORMATS[name]).options(**options).load()
    return drained(frame.writeStream.format("noop"), count)


def read_without_spark(broker: Broker, count: int) -> None:
    options = batch_options(_options(broker))
    reader = FilteringBatchReader(options, schema_of(headers=False), parallelism=1)
    read = sum(batch.num_rows for task in reader.partitions() for batch in reader.read(task))
    assert read == count, f"{read} of {count} records were read"


def micro_batch_ms(spark: SparkSession, broker: Broker, name: str) -> float:
    frame = spark.readStream.format(FORMATS[name]).options(**_options(broker)).load()
    with running(frame.writeStream.format("noop")) as query:
        return small_batches_ms(query, broker)


def _options(broker: Broker, topic: str = TOPIC) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}
