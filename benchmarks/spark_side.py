"""What measurements on Spark have in common: sessions, contenders in turn, and what they cost.

Everything on local[2]. Each work is done once to warm the JVM up, whose first runs cost twice as
much, then several times, contenders in turn; medians count.

CPU is that of the JVM and of all Python processes, not the broker's. Its shares are

our code         fetching, decoding, encoding, producing: what the same takes without Spark
Arrow transfer   the rest of Python's: taking work from the JVM, and columns to and from it
Spark            the JVM's, which makes rows of columns or columns of rows

Spark's own Kafka connector takes part if one of these says where it is:

BARNABAS_SPARK_KAFKA_PACKAGES   Maven coordinates, which Spark fetches once and keeps:
                                org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION
BARNABAS_SPARK_KAFKA_JARS       its files, comma between: spark-sql-kafka-0-10,
                                spark-token-provider-kafka-0-10, kafka-clients, commons-pool2
"""

import ctypes
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from statistics import median
from typing import NamedTuple

import psutil
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from rich.console import Console

import barnabas
import barnabas.spark
from benchmarks.bench import BASELINE, TOPIC, Bench, Row
from benchmarks.brokers import BARNABAS, Broker

PACKAGES = "BARNABAS_SPARK_KAFKA_PACKAGES"
JARS = "BARNABAS_SPARK_KAFKA_JARS"
STATE = "BARNABAS_SPARK_STATE"
FORMATS = {BARNABAS: "barnabas", BASELINE: "kafka"}
PARTITIONS = 4

_SET_CHILD_SUBREAPER = 36
"""Of prctl in Linux."""
_IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_DAEMON = "pyspark.daemon"
_SMALL_BATCHES = 60
_FILL_ROWS = 50_000
_OUR_SHARE = 33
"""Percent of the CPU that our code may take at most."""

Work = Callable[[str], float | None]
"""Done by one contender. What it returns are the seconds that count of it, if not all do."""


class Cost(NamedTuple):
    """What a work has taken, in seconds."""

    elapsed: float
    jvm: float
    python: float

    @property
    def cpu(self) -> float:
        return self.jvm + self.python


def connectors(console: Console) -> list[str]:
    """Ours, and Spark's own if it is there."""
    if os.environ.get(PACKAGES) or os.environ.get(JARS):
        return [BARNABAS, BASELINE]
    console.print(
        "Spark's own Kafka connector is not there to compare with: set "
        f"{PACKAGES}=org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION (Spark's version), "
        f"or {JARS} to its files"
    )
    return [BARNABAS]


@contextmanager
def session() -> Iterator[SparkSession]:
    """A Spark that has both connectors, if the other one is there."""
    conf = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        # Spark's connector keeps producers for ten minutes; their threads would count for others.
        "spark.kafka.producer.cache.timeout": "1s",
        "spark.kafka.producer.cache.evictorThreadRunInterval": "1s",
    }
    if os.environ.get(STATE) == "memory":
        conf["spark.sql.streaming.stateStore.providerClass"] = _IN_MEMORY
    for name, variable in (("spark.jars.packages", PACKAGES), ("spark.jars", JARS)):
        if value := os.environ.get(variable):
            conf[name] = value
    with tempfile.TemporaryDirectory(prefix="barnabas-bytecode-") as bytecode:
        # Workers find their bytecode compiled, as that of an installed package is.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        adopt_orphans()
        spark = barnabas.spark.session("benchmark", "local[2]", **conf)
        spark.sparkContext.setLogLevel("OFF")
        try:
            yield spark
        finally:
            spark.stop()


def fill(broker: Broker, size: int, count: int, topic: str = TOPIC) -> None:
    """Records with a key of 12 bytes, all of one size."""
    with barnabas.Producer(broker.bootstrap) as producer:
        for start in range(0, count, _FILL_ROWS):
            keys = [b"key-%08d" % number for number in range(start, min(start + _FILL_ROWS, count))]
            values = [(key * (size // 12 + 1))[:size] for key in keys]
            producer.send_table(pa.table({"key": keys, "value": values}), topic=topic)


@contextmanager
def running(writing: DataStreamWriter, *, available_now: bool = False) -> Iterator[StreamingQuery]:
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as checkpoint:
        writing = writing.option("checkpointLocation", checkpoint)
        if available_now:
            writing = writing.trigger(availableNow=True)
        query = writing.start()
        try:
            yield query
        finally:
            query.stop()


def drained(writing: DataStreamWriter, count: int) -> float:
    """Seconds that the triggers of a stream took that reads what there is."""
    with running(writing, available_now=True) as query:
        query.awaitTermination()
        batches = query.recentProgress
    read = sum(each.numInputRows for each in batches)
    assert read == count, f"{read} of {count} records were read"
    return sum(each.durationMs["triggerExecution"] for each in batches) / 1000


def small_batches_ms(query: StreamingQuery, broker: Broker) -> float:
    """The median of small ones; the first half, in which things are compiled, does not count."""
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
    return median(took[len(took) // 2 :])


def compare(
    bench: Bench,
    broker: Broker,
    what: str,
    count: int,
    works: dict[str, Work],
    *,
    aim: float | None = None,
) -> tuple[list[Row], Cost]:
    """Rows about speed and CPU, and what ours cost. `aim` is how much faster it shall be."""
    costs: dict[str, list[Cost]] = {name: [] for name in works}
    for number in range(bench.rounds + 1):
        for name, work in works.items():
            with bench.console.status(f"{what}, round {number} of {bench.rounds}: {name}"):
                cost = timed(broker, partial(work, name))
            if number:
                costs[name].append(cost)
    medians = {name: Cost(*map(median, zip(*each, strict=True))) for name, each in costs.items()}
    speeds = {name: count / cost.elapsed / 1e6 for name, cost in medians.items()}
    promise = {BASELINE: aim} if aim is not None and BASELINE in works else {}
    rows = [
        Row(what, "M/s", speeds, at_least_ratios=promise),
        Row(what, "CPU s/M", {name: cost.cpu / count * 1e6 for name, cost in medians.items()}),
    ]
    return rows, medians[BARNABAS]


def shares(what: str, with_spark: Cost, alone: Cost) -> list[Row]:
    """Whose CPU it is, of a work that has been done without Spark as well."""
    parts = {
        "our code": alone.python,
        "Arrow transfer": max(with_spark.python - alone.python, 0.0),
        "Spark": with_spark.jvm,
    }
    whole = sum(parts.values())
    return [
        Row(f"{what}: {name}", "% CPU", {BARNABAS: 100 * part / whole}, at_most=limit)
        for (name, part), limit in zip(parts.items(), (_OUR_SHARE, None, None), strict=True)
    ]


def timed(broker: Broker, work: Callable[[], float | None]) -> Cost:
    began, (jvm_s, python_s) = time.perf_counter(), cpu_s(broker)
    counted = work()
    elapsed = time.perf_counter() - began if counted is None else counted
    jvm_end_s, python_end_s = cpu_s(broker)
    return Cost(elapsed, jvm_end_s - jvm_s, python_end_s - python_s)


def adopt_orphans() -> None:
    """Become the parent of Spark's workers whose own parent has ended.

    The JVM ends a daemon of idle workers without waiting for them. What they have used would be
    lost, and the CPU of a measurement negative.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reap_adopted(this: psutil.Process) -> None:
    """Take over the times of workers that have ended."""
    for process in this.children():
        with suppress(psutil.NoSuchProcess, ChildProcessError):
            if process.status() == psutil.STATUS_ZOMBIE:
                key = _key(process)
                os.waitpid(process.pid, os.WNOHANG)
                _of_workers_s.pop(key, None)


def cpu_s(broker: Broker) -> tuple[float, float]:
    """Of the JVM, and of this process and all others below it but the broker."""
    jvm_s = python_s = 0.0
    this = psutil.Process()
    _reap_adopted(this)
    for process in (this, *this.children(recursive=True)):
        if process.pid != broker.pid:
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                used = times.user + times.system
                if process.name() == "java":
                    jvm_s += used
                elif _is_forked_worker(process):
                    _of_workers_s[_key(process)] = used
                else:
                    python_s += used
                # Those of processes that have ended: who started them has their times.
                python_s += times.children_user + times.children_system
    return jvm_s, python_s + sum(_of_workers_s.values())


def _is_forked_worker(process: psutil.Process) -> bool:
    """Whether a daemon of Spark has forked it, whose children's times the system does not add up.

    The daemon ignores their ends. Spark lets workers go that were idle for a minute.
    """
    if _key(process) in _of_workers_s:
        return True
    parent = process.parent()
    return parent is not None and _DAEMON in parent.cmdline()


def _key(process: psutil.Process) -> tuple[int, float]:
    return process.pid, process.create_time()


_of_workers_s: dict[tuple[int, float], float] = {}
"""What each of those workers had used when it was last seen."""
