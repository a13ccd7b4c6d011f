"""Changes of a PostgreSQL into a topic: rows and changes a second, CPU of each, and latency.

    BARNABAS_DEBEZIUM_JARS=FOLDER python -m benchmarks changes [--quick]

`barnabas pipeline run` with `from_postgres_changes` and `to_topic`, exactly once, on local[2]. The
baseline is Debezium on Kafka Connect, at least once as it is by default, if the variable names a
folder with its JAR files: Kafka's connect-runtime and connect-json, Debezium's connector for
PostgreSQL, and all that they need (`mvn dependency:copy-dependencies`). It needs a `java`.

snapshot  rows that were there before, of 150 bytes. What it takes to start, which is measured with
          a table of one row, is subtracted
changes   inserts in transactions of ten, written as fast as the server takes them
latency   one insert at a time, from its commit on until a consumer has it
Parquet   the same inserts into a table of Parquet files, without a topic between

CPU is that of the pipeline or of Kafka Connect with all their processes, without broker, consumer
and server; that of the server has its own row.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Self

from pyarrow.dataset import dataset

import barnabas
from benchmarks.bench import BASELINE, Bench, Row
from benchmarks.brokers import BARNABAS, Contender, create_topic
from benchmarks.capture.captures import JARS, TOPIC, Capture, captures, running
from benchmarks.capture.database import Database, database

_PATIENCE_S = 600.0
_TRANSACTION = 10
_PAUSE_S = 0.25
_SETTINGS = {"transaction.two.phase.commit.enable": "true"}

Figures = dict[str, float]


@dataclass
class Size:
    rows: int
    changes: int
    single: int


def measure(bench: Bench) -> list[Row]:
    size = Size(100_000, 50_000, 40) if bench.quick else Size(500_000, 200_000, 200)
    names = captures()
    if BASELINE not in names:
        bench.console.print(
            f"Debezium is not there to compare with: set {JARS} to a folder with its JAR files"
        )
    seen: dict[str, list[Figures]] = {name: [] for name in names}
    for number in range(bench.rounds):
        for name in names:
            with bench.console.status(f"changes, round {number + 1} of {bench.rounds}: {name}"):
                seen[name].append(_figures(name, size))
            shown = ", ".join(f"{key} {value:.4g}" for key, value in seen[name][-1].items())
            bench.console.print(f"  [dim]changes: {name}: {shown}[/]", highlight=False)

    def values(figure: str) -> dict[str, float]:
        return {
            name: median(each[figure] for each in found)
            for name, found in seen.items()
            if figure in found[0]
        }

    return [
        Row("snapshot", "rows/s", values("rows")),
        Row("snapshot, CPU", "us/row", values("row_cpu"), at_most_ratio=1.0),
        Row("changes", "changes/s", values("changes")),
        Row("changes, CPU", "us/change", values("change_cpu"), at_most_ratio=1.0),
        Row("changes, CPU of the server", "us/change", values("server_cpu")),
        Row("changes into Parquet", "changes/s", values("parquet")),
        Row("changes into Parquet, CPU", "us/change", values("parquet_cpu")),
        Row("one change, median", "ms", values("p50")),
        Row("one change, 99 %", "ms", values("p99"), at_most=300.0),
    ]


def _figures(name: str, size: Size) -> Figures:
    with database() as source, Contender(BARNABAS).started(settings=_SETTINGS) as broker:
        create_topic(broker, TOPIC, 1)
        began = time.monotonic()
        source.insert(0, 1)
        with running(name, broker.bootstrap, source) as capture, _Watch(broker.bootstrap) as watch:
            watch.until(capture, 1)
            start_s, start_cpu_s = time.monotonic() - began, capture.cpu_s()
            found = _changes(source, capture, watch, size)
    with database() as source, Contender(BARNABAS).started(settings=_SETTINGS) as broker:
        create_topic(broker, TOPIC, 1)
        source.insert(0, size.rows)
        began = time.monotonic()
        with running(name, broker.bootstrap, source) as capture, _Watch(broker.bootstrap) as watch:
            watch.until(capture, size.rows)
            took_s, cpu_s = time.monotonic() - began - start_s, capture.cpu_s() - start_cpu_s
    found |= {"rows": size.rows / took_s, "row_cpu": cpu_s / size.rows * 1e6}
    return found if name == BASELINE else found | _into_parquet(size)


def _into_parquet(size: Size) -> Figures:
    with (
        TemporaryDirectory(prefix="barnabas-bench-") as folder,
        database() as source,
        Contender(BARNABAS).started() as broker,
    ):
        table = Path(folder, "table")
        source.insert(0, 1)
        with running(BARNABAS, broker.bootstrap, source, table) as capture:
            _until_rows(table, capture, 1)
            warm = size.changes // 4
            source.change(1, warm // _TRANSACTION, _TRANSACTION)
            _until_rows(table, capture, 1 + warm)
            before, began = capture.cpu_s(), time.monotonic()
            source.change(1 + warm, size.changes // _TRANSACTION, _TRANSACTION)
            _until_rows(table, capture, 1 + warm + size.changes)
            took_s, cpu_s = time.monotonic() - began, capture.cpu_s() - before
    return {"parquet": size.changes / took_s, "parquet_cpu": cpu_s / size.changes * 1e6}


def _until_rows(table: Path, capture: Capture, count: int) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    rows = 0
    while rows < count:
        time.sleep(0.1)
        capture.check()
        with suppress(FileNotFoundError):  # the table is made with its first rows
            rows = dataset(table, format="parquet").count_rows()
        assert time.monotonic() < deadline, f"{rows} of {count} rows have come"
    assert rows == count, f"{rows} rows instead of {count}"


def _changes(source: Database, capture: Capture, watch: "_Watch", size: Size) -> Figures:
    """Of a process that has run for a while."""
    source.change(1, size.changes // _TRANSACTION // 4, _TRANSACTION)
    count = 1 + size.changes // 4
    watch.until(capture, count)
    took = []
    for _ in range(size.single + size.single // 4):
        time.sleep(_PAUSE_S)
        source.insert(count, 1)
        began = time.monotonic()
        count += 1
        watch.until(capture, count)
        took.append((time.monotonic() - began) * 1000)
    percentiles = quantiles(took[size.single // 4 :], n=100, method="inclusive")
    before, server_before = capture.cpu_s(), source.cpu_s()
    began = time.monotonic()
    source.change(count, size.changes // _TRANSACTION, _TRANSACTION)
    watch.until(capture, count + size.changes)
    took_s = time.monotonic() - began
    return {
        "changes": size.changes / took_s,
        "change_cpu": (capture.cpu_s() - before) / size.changes * 1e6,
        "server_cpu": (source.cpu_s() - server_before) / size.changes * 1e6,
        "p50": percentiles[49],
        "p99": percentiles[98],
    }


class _Watch:
    """A consumer that counts what is in the topic."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = barnabas.Consumer(bootstrap, TOPIC, start="earliest")
        self._seen = 0

    def until(self, capture: Capture, count: int) -> None:
        """Until so many records have come."""
        deadline = time.monotonic() + _PATIENCE_S
        while self._seen < count:
            self._seen += len(self._consumer.poll(timeout_s=5))
            capture.check()
            assert time.monotonic() < deadline, f"{self._seen} of {count} records have come"
        assert self._seen == count, f"{self._seen} records instead of {count}"

    def __enter__(self) -> Self:
        self._consumer.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._consumer.close()
