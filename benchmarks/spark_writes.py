"""Writing from Spark: rows a second, and what they cost, beside Spark's own Kafka connector.

write           `df.write` of rows with a key, made by Spark itself
without Spark   our part alone, in one process: packed and sent, at least once
stream          from one topic to another in four micro-batches, at least once
exactly once    the same with deliveryGuarantee=exactly-once, which the other connector lacks: it
                is beside the same without
micro-batch     from a trigger's start to its end, of ten records each, from one topic to another

CPU, machine and connectors are as in `spark_reads`.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import barnabas
from barnabas.spark.row_writing import write_rows
from barnabas.spark.sink_options import sink_options
from benchmarks.bench import BESIDE, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender
from benchmarks.spark_reads import (
    FORMATS,
    JARS,
    PARTITIONS,
    fill,
    session,
    small_batches_ms,
    timed,
)

EXACTLY_ONCE = {"deliveryGuarantee": "exactly-once"}
AT_LEAST_ONCE: dict[str, str] = {}

_ROWS_OF_SPARK = 10_000
"""In an Arrow batch, as Spark makes them."""

Work = Callable[[str], None]


def measure(bench: Bench) -> list[Row]:
    names = [BARNABAS, BESIDE] if os.environ.get(JARS) else [BARNABAS]
    rows: list[Row] = []
    with session() as spark:
        for size in (100, 1_000):
            megabytes = 100 if bench.quick else 400
            count = megabytes * 1_000_000 // size
            with _broker() as broker:
                fill(broker, size, count)
                rows += _writes(bench, spark, broker, names, size, count)
        with _broker() as broker:
            took = {name: micro_batch_ms(spark, broker, name, AT_LEAST_ONCE) for name in names}
            rows.append(Row("micro-batch, topic to topic", "ms", took, at_most=150))
            ms = micro_batch_ms(spark, broker, BARNABAS, EXACTLY_ONCE)
            beside = {BARNABAS: ms, BESIDE: took[BARNABAS]}
            rows.append(Row("micro-batch, exactly once", "ms", beside))
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
    rows = _compare(
        bench, broker, f"write, {size} B", count, 1.0,
        {name: lambda name: batch_write(spark, broker, name, size, count) for name in names},
    )  # fmt: skip
    rows += _compare(
        bench, broker, f"stream, {size} B", count, 1.0,
        {name: lambda name: stream_write(spark, broker, name, count, {}) for name in names},
    )  # fmt: skip
    rows += _compare(
        bench, broker, f"exactly once, {size} B", count, None,
        {
            BARNABAS: lambda name: stream_write(spark, broker, name, count, EXACTLY_ONCE),
            BESIDE: lambda _: stream_write(spark, broker, BARNABAS, count, AT_LEAST_ONCE),
        },
    )  # fmt: skip
    batches = _rows(size, count)
    seconds, cpu_s = timed(broker, partial(write_without_spark, broker, batches))
    return [
        *rows,
        Row(f"without Spark, {size} B", "M/s", {BARNABAS: count / seconds / 1e6}),
        Row(f"without Spark, {size} B", "CPU s/M", {BARNABAS: cpu_s / count * 1e6}),
    ]


def _compare(
    bench: Bench, broker: Broker, what: str, count: int, aim: float | None, works: dict[str, Work]
) -> list[Row]:
    """Each in turn, after a round that only warms up."""
    speeds: dict[str, list[float]] = {name: [] for name in works}
    costs: dict[str, list[float]] = {name: [] for name in works}
    for number in range(bench.rounds + 1):
        for name, work in works.items():
            with bench.console.status(f"{what}, round {number}: {name}"):
                seconds, cpu_s = timed(broker, partial(work, name))
            if number:
                speeds[name].append(count / seconds / 1e6)
                costs[name].append(cpu_s / count * 1e6)
    promise = {BESIDE: aim} if aim is not None and BESIDE in works else {}
    return [
        Row(what, unit, {name: median(each) for name, each in values.items()}, at_least_ratios=to)
        for unit, values, to in (("M/s", speeds, promise), ("CPU s/M", costs, {}))
    ]


def batch_write(spark: SparkSession, broker: Broker, name: str, size: int, count: int) -> None:
    frame = spark.range(count).selectExpr(
        "CAST(id AS STRING) AS key", f"rpad(CAST(id AS STRING), {size}, 'x') AS value"
    )
    writing = frame.write.format(FORMATS[name]).mode("append")
    writing.options(**_to(broker, _new_topic(broker))).save()


def stream_write(
    spark: SparkSession, broker: Broker, name: str, count: int, guarantee: dict[str, str]
) -> None:
    frame = _stream(spark, broker, name, maxOffsetsPerTrigger=str(count // 4))
    options = _to(broker, _new_topic(broker)) | guarantee
    with _running(frame, name, options, available_now=True) as query:
        query.awaitTermination()
        read = sum(each.numInputRows for each in query.recentProgress)
    assert read == count, f"{read} of {count} records were read"


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
    frame = _stream(spark, broker, name, startingOffsets="latest")
    options = _to(broker, _new_topic(broker)) | guarantee
    with _running(frame, name, options) as query:
        return small_batches_ms(query, broker)


def _stream(spark: SparkSession, broker: Broker, name: str, **options: str) -> DataFrame:
    given = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "subscribe": TOPIC,
        "startingOffsets": "earliest",
        **options,
    }
    frame = spark.readStream.format(FORMATS[name]).options(**given).load()
    return frame.select("key", "value")


def _new_topic(broker: Broker) -> str:
    name = f"out-{uuid4().hex[:8]}"
    with barnabas.Admin(broker.bootstrap) as admin:
        admin.create_topic(name, partitions=PARTITIONS)
    return name


def _to(broker: Broker, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic}


@contextmanager
def _running(
    frame: DataFrame, name: str, options: dict[str, str], *, available_now: bool = False
) -> Iterator[StreamingQuery]:
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as checkpoint:
        writing = frame.writeStream.format(FORMATS[name]).options(**options)
        writing = writing.option("checkpointLocation", checkpoint)
        if available_now:
            writing = writing.trigger(availableNow=True)
        query = writing.start()
        try:
            yield query
        finally:
            query.stop()
