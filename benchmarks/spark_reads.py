"""Reading from Spark: rows a second, and what they cost, beside Spark's own Kafka connector.

read            `spark.read` of a whole topic into nothing
read, values    the same for the values alone: a schema names them, so that nothing else is decoded
stream          `spark.readStream` of the topic in four micro-batches, into nothing; the seconds are
                those of its triggers, the CPU includes the query's start
without Spark   our part alone, in one process: fetched, decoded, and thrown away
micro-batch     from a trigger's start to its end, of ten records each, into nothing

CPU is that of the JVM and all Python processes under it, not the broker's. Everything on local[2],
topics of four partitions, contenders in turn, after two rounds that only warm the JVM up: its first
ones cost twice as much.

Spark's own connector is measured if BARNABAS_SPARK_KAFKA_JARS names its JAR files, comma between:
spark-sql-kafka-0-10, spark-token-provider-kafka-0-10, kafka-clients, commons-pool2.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from statistics import median

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import barnabas
import barnabas.spark
from barnabas.spark.batch_reader import BatchReader
from barnabas.spark.options import batch_options
from barnabas.spark.schema import schema_of
from benchmarks.bench import BESIDE, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker, Contender

JARS = "BARNABAS_SPARK_KAFKA_JARS"

FORMATS = {BARNABAS: "barnabas", BESIDE: "kafka"}
PARTITIONS = 4
_SMALL_BATCHES = 30
_WARM_UP_ROUNDS = 2


def measure(bench: Bench) -> list[Row]:
    names = [BARNABAS, BESIDE] if os.environ.get(JARS) else [BARNABAS]
    rows: list[Row] = []
    with session() as spark:
        for size in (100, 1_000):
            megabytes = 100 if bench.quick else 400
            count = megabytes * 1_000_000 // size
            with Contender(BARNABAS).running(TOPIC, PARTITIONS) as broker:
                fill(broker, size, count)
                rows += _reads(bench, spark, broker, names, size, count)
        with Contender(BARNABAS).running(TOPIC, PARTITIONS) as broker:
            took = {name: micro_batch_ms(spark, broker, name) for name in names}
            rows.append(Row("micro-batch, 10 records", "ms", took, at_most=150))
    return rows


@contextmanager
def session() -> Iterator[SparkSession]:
    """A Spark that has both connectors, if the other one is there."""
    conf = {"spark.ui.enabled": "false", "spark.driver.memory": "2g"}
    if jars := os.environ.get(JARS):
        conf["spark.jars"] = jars
    spark = barnabas.spark.session("benchmark", "local[2]", **conf)
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def fill(broker: Broker, size: int, count: int) -> None:
    """Records with a key of 12 bytes, all of one size."""
    with barnabas.Producer(broker.bootstrap) as producer:
        for number in range(count):
            key = b"key-%08d" % number
            producer.send(TOPIC, (key * (size // 12 + 1))[:size], key=key)


def _reads(
    bench: Bench, spark: SparkSession, broker: Broker, names: list[str], size: int, count: int
) -> list[Row]:
    works: dict[str, Callable[[str], float | None]] = {
        "read": lambda name: batch_read(spark, broker, name),
        "read, values": lambda name: batch_read(spark, broker, name, only_values=True),
        "stream": lambda name: stream_read(spark, broker, name, count),
    }
    rows: list[Row] = []
    for what, work in works.items():
        speeds: dict[str, list[float]] = {name: [] for name in names}
        costs: dict[str, list[float]] = {name: [] for name in names}
        for number in range(_WARM_UP_ROUNDS + bench.rounds):
            for name in names:
                with bench.console.status(f"{what}, {size} B, round {number}: {name}"):
                    seconds, cpu_s = timed(broker, partial(work, name))
                if number >= _WARM_UP_ROUNDS:
                    speeds[name].append(count / seconds / 1e6)
                    costs[name].append(cpu_s / count * 1e6)
        aim = {BESIDE: 2.0} if BESIDE in names else {}
        for unit, values, promise in (("M/s", speeds, aim), ("CPU s/M", costs, {})):
            medians = {name: median(numbers) for name, numbers in values.items()}
            rows.append(Row(f"{what}, {size} B", unit, medians, at_least_ratios=promise))
    seconds, cpu_s = timed(broker, partial(read_without_spark, broker, count))
    return [
        *rows,
        Row(f"without Spark, {size} B", "M/s", {BARNABAS: count / seconds / 1e6}),
        Row(f"without Spark, {size} B", "CPU s/M", {BARNABAS: cpu_s / count * 1e6}),
    ]


def batch_read(
    spark: SparkSession, broker: Broker, name: str, *, only_values: bool = False
) -> None:
    reader = spark.read.format(FORMATS[name])
    if only_values and name == BARNABAS:
        reader = reader.schema("value binary")
    frame = reader.options(**_options(broker)).load()
    if only_values:
        frame = frame.select("value")
    frame.write.format("noop").mode("overwrite").save()


def stream_read(spark: SparkSession, broker: Broker, name: str, count: int) -> float:
    """Seconds that its triggers took."""
    options = {
        **_options(broker),
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": count // 4,
    }
    frame = spark.readStream.format(FORMATS[name]).options(**options).load()
    with _running(frame, available_now=True) as query:
        query.awaitTermination()
        batches = query.recentProgress
    read = sum(each.numInputRows for each in batches)
    assert read == count, f"{read} of {count} records were read"
    return sum(each.durationMs["triggerExecution"] for each in batches) / 1000


def read_without_spark(broker: Broker, count: int) -> None:
    options = batch_options(_options(broker))
    reader = BatchReader(options, schema_of(headers=False), parallelism=1)
    read = sum(batch.num_rows for task in reader.partitions() for batch in reader.read(task))
    assert read == count, f"{read} of {count} records were read"


def micro_batch_ms(spark: SparkSession, broker: Broker, name: str) -> float:
    frame = spark.readStream.format(FORMATS[name]).options(**_options(broker)).load()
    with _running(frame) as query:
        return small_batches_ms(query, broker)


def small_batches_ms(query: StreamingQuery, broker: Broker) -> float:
    """The median of small ones; the first few, in which things are compiled, do not count."""
    took: list[float] = []
    with barnabas.Producer(broker.bootstrap) as producer:
        query.processAllAvailable()
        for _ in range(_SMALL_BATCHES):
            for number in range(10):
                producer.send(TOPIC, b"%d" % number)
            producer.flush()
            query.processAllAvailable()
            took += [
                each.durationMs["triggerExecution"]
                for each in query.recentProgress[-3:]
                if each.numInputRows
            ][-1:]
    return median(took[_SMALL_BATCHES // 3 :])


def _options(broker: Broker) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": TOPIC}


@contextmanager
def _running(frame: DataFrame, *, available_now: bool = False) -> Iterator[StreamingQuery]:
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as checkpoint:
        writing = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        if available_now:
            writing = writing.trigger(availableNow=True)
        query = writing.start()
        try:
            yield query
        finally:
            query.stop()


def timed(broker: Broker, work: Callable[[], float | None]) -> tuple[float, float]:
    """Seconds, and those of CPU of this process and all below it but the broker.

    What a work returns are the seconds that count of it.
    """
    began, cpu_began = time.perf_counter(), _cpu_s(broker)
    counted = work()
    seconds = time.perf_counter() - began if counted is None else counted
    return seconds, _cpu_s(broker) - cpu_began


def _cpu_s(broker: Broker) -> float:
    """Of all processes there are now; Spark keeps its workers, so hardly any CPU gets lost."""
    total = 0.0
    this = psutil.Process()
    for process in (this, *this.children(recursive=True)):
        if process.pid != broker.pid:
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
    return total
