"""Writing from Spark: rows a second, and what they cost, vs. Spark's own Kafka connector.

write           `df.write` of rows with a key, made by Spark itself
stream          from one topic to another in four micro-batches, at least once; the seconds are
                those of its triggers, the CPU includes the query's start
exactly once    the same with deliveryGuarantee=exactly-once, which the other connector lacks: it
                is compared with our own without
shares          of the CPU of `write`
micro-batch     from a trigger's start to its end, of ten records each, from one topic to another

`spark_side` says how it is measured, and where Spark's own connector comes from.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

import barnabas
from barnabas.spark.sink.options import sink_options
from barnabas.spark.sink.row_writer import write_rows
from benchmarks.bench import BASELINE, TOPIC, Bench, Row
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

EXACTLY_ONCE = {"deliveryGuarantee": "exactly-once"}
AT_LEAST_ONCE: dict[str, str] = {}

_AIM = 1.0
_MICRO_BATCH_MS = 150
_SIZES = {100: 100, 1_000: 300}
"""Megabytes, by the size of values."""
_ROWS_OF_SPARK = 10_000
"""In an Arrow batch, as Spark makes them."""


def measure(bench: Bench) -> list[Row]:
    names = connectors(bench.console)
    rows: list[Row] = []
    with session() as spark:
        for size, megabytes in _SIZES.items():
            count = megabytes * 1_000_000 // size // (4 if bench.quick else 1)
            with _broker() as broker:
                fill(broker, size, count)
                rows += _writes(bench, spark, broker, names, size, count)
        with _broker() as broker:
            took = {name: micro_batch_ms(spark, broker, name, AT_LEAST_ONCE) for name in names}
            rows.append(Row("micro-batch, topic to topic", "ms", took, at_most=_MICRO_BATCH_MS))
            ms = micro_batch_ms(spark, broker, BARNABAS, EXACTLY_ONCE)
            compared = {BARNABAS: ms, BASELINE: took[BARNABAS]}
            rows.append(Row("micro-batch, exactly once", "ms", compared, at_most=_MICRO_BATCH_MS))
    return rows


@contextmanager
def _broker() -> Iterator[Broker]:
    with Contender(BARNABAS).running(TOPIC, PARTITIONS) as broker:
        with barnabas.Admin(broker.bootstrap) as admin:
            admin.set_configs({"transaction.two.phase.commit.enable": True}, broker=1)
        yield broker


def _writes(
    bench: Bench, spark: SparkSession, broker: Broker, names: list[str], size: int, count: int
) -> list[Row]:
    write, cost = compare(
        bench, broker, f"write, {size} B", count,
        dict.fromkeys(names, lambda name: batch_write(spark, broker, name, size, count)), aim=_AIM,
    )  # fmt: skip
    stream, _ = compare(
        bench, broker, f"stream, {size} B", count,
        dict.fromkeys(names, lambda name: stream_write(spark, broker, name, count, AT_LEAST_ONCE)),
        aim=_AIM,
    )  # fmt: skip
    exactly_once, _ = compare(
        bench, broker, f"stream, exactly once, {size} B", count,
        {
            BARNABAS: lambda name: stream_write(spark, broker, name, count, EXACTLY_ONCE),
            BASELINE: lambda _: stream_write(spark, broker, BARNABAS, count, AT_LEAST_ONCE),
        },
    )  # fmt: skip
    batches = _rows(size, count)
    alone = timed(broker, lambda: write_without_spark(broker, batches))
    return [*write, *stream, *exactly_once, *shares(f"write, {size} B", cost, alone)]


def batch_write(spark: SparkSession, broker: Broker, name: str, size: int, count: int) -> None:
    frame = spark.range(count).selectExpr(
        "CAST(id AS STRING) AS key", f"rpad(CAST(id AS STRING), {size}, 'x') AS value"
    )
    writing = frame.write.format(FORMATS[name]).mode("append")
    writing.options(**_to(broker, _new_topic(broker))).save()


def stream_write(
    spark: SparkSession, broker: Broker, name: str, count: int, guarantee: dict[str, str]
) -> float:
    return drained(
        _from_topic_to_topic(
            spark, broker, name, guarantee,
            startingOffsets="earliest", maxOffsetsPerTrigger=str(count // 4),
        ),
        count,
    )  # fmt: skip


def write_without_spark(broker: Broker, batches: list[pa.RecordBatch]) -> None:
    options = sink_options(_to(broker, _new_topic(broker)), streaming=False)
    write_rows(options, ["key", "value"], iter(batches))


def _rows(size: int, count: int) -> list[pa.RecordBatch]:
    """What Spark would hand over, made beforehand."""
    return [
        pa.record_batch(
            {
                "key": [b"%d" % number for number in range(at, at + _ROWS_OF_SPARK)],
                "value": [(b"%d" % number).ljust(size, b"x") for number in range(_ROWS_OF_SPARK)],
            }
        )
        for at in range(0, count, _ROWS_OF_SPARK)
    ]


def micro_batch_ms(
    spark: SparkSession, broker: Broker, name: str, guarantee: dict[str, str]
) -> float:
    with running(_from_topic_to_topic(spark, broker, name, guarantee)) as query:
        return small_batches_ms(query, broker)


def _from_topic_to_topic(
    spark: SparkSession, broker: Broker, name: str, guarantee: dict[str, str], **options: str
) -> DataStreamWriter:
    given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": TOPIC, **options}
    frame = spark.readStream.format(FORMATS[name]).options(**given).load()
    written = _to(broker, _new_topic(broker)) | guarantee
    return frame.select("key", "value").writeStream.format(FORMATS[name]).options(**written)


def _new_topic(broker: Broker) -> str:
    name = f"out-{uuid4().hex[:8]}"
    with barnabas.Admin(broker.bootstrap) as admin:
        admin.create_topic(name, partitions=PARTITIONS)
    return name


def _to(broker: Broker, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic}
