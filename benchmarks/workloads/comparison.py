"""All queries of a workload, run by all contenders in turn; the rows of the table.

Every query is run on few events first, to warm the JVM up, and what was written is compared with a
batch. Then rounds on many events are measured, contenders in turn, and their medians count. Who
comes first changes with each round: what the JVM compiles for one serves the next. The CPU includes
the start of a query, a second or two: with few events little else would be measured. A quick run
has one round, and leaves our connector out if Spark's own is there.

    BARNABAS_BENCH_QUERIES="q5 q11" BARNABAS_BENCH_EVENTS=1000000 BARNABAS_BENCH_ROUNDS=3 \\
        python -m benchmarks nexmark --quick

runs some of the queries, on so many events, so many times.
"""

import os
import time
from math import prod
from statistics import median

from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.bench import BASELINE, CONNECTOR, Bench, Row
from benchmarks.brokers import BARNABAS, Contender
from benchmarks.spark_side import PARTITIONS, Cost, connectors, session
from benchmarks.workloads.contenders import Filled, fill, fill_tables, run
from benchmarks.workloads.results import difference, expected, written
from benchmarks.workloads.workload import Query, Workload

SPEED = 1.3
"""How many times as many events a second a pipeline shall take as Spark's own connector."""

CPU = 0.8
"""What it shall take of CPU at most, compared with that."""


_ROUNDS = 2
_ENOUGH_S = 120.0
"""When no further round is begun."""


def compare_all(bench: Bench, workload: Workload, events: int) -> list[Row]:
    """The rows of all queries, and of their means."""
    others = [CONNECTOR, *connectors(bench.console)[1:]]
    names = [BARNABAS, *(others[-1:] if bench.quick else others)]
    events = int(os.environ.get("BARNABAS_BENCH_EVENTS", events))
    wanted = os.environ.get("BARNABAS_BENCH_QUERIES", "").split()
    queries = [each for each in workload.queries if not wanted or each.name in wanted]
    assert queries, f"no such queries: {' '.join(wanted)}"
    with session() as spark, Contender(BARNABAS).running("unused") as broker:
        fill_tables(broker, workload)
        few, many = (fill(broker, workload, each, PARTITIONS) for each in (events // 10, events))
        comparison = Comparison(bench.console, spark, names)
        for query in queries:
            comparison.check(few, query)
        asked = os.environ.get("BARNABAS_BENCH_ROUNDS")
        if asked is not None:
            return comparison.rows(many, queries, int(asked), float("inf"))
        return comparison.rows(many, queries, 1 if bench.quick else _ROUNDS)


class Comparison:
    """Runs queries by all contenders, one after the other."""

    def __init__(self, console: Console, spark: SparkSession, contenders: list[str]) -> None:
        self._console = console
        self._spark = spark
        self._contenders = contenders
        self._runs = 0

    def rows(
        self, filled: Filled, queries: list[Query], rounds: int, enough_s: float = _ENOUGH_S
    ) -> list[Row]:
        """Measure them, and hold pipelines to what is promised."""
        began = time.monotonic()
        costs: dict[str, dict[str, list[Cost]]] = {
            query.name: {name: [] for name in self._contenders} for query in queries
        }
        for number in range(1, rounds + 1):
            if number > 1 and time.monotonic() - began > enough_s:
                break
            in_turn = self._contenders[:: 1 if number % 2 else -1]
            for query in queries:
                for name in in_turn:
                    with self._console.status(f"{query.name}, round {number}: {name}"):
                        costs[query.name][name].append(self._run(filled, query, name)[0])
        return self._summary(filled, queries, costs)

    def check(self, filled: Filled, query: Query) -> None:
        """Run it once by each; raises if a stream has not written the rows of a batch."""
        of_batch = expected(self._spark, filled, query)
        assert of_batch, f"{query.name} has no rows"
        for name in self._contenders:
            with self._console.status(f"{query.name}, warming up: {name}"):
                _, output = self._run(filled, query, name)
            of_stream = written(self._spark, filled, query, output)
            found = difference(of_stream, of_batch)
            if found is not None:
                raise AssertionError(f"{query.name} by {name}: {found}")

    def _run(self, filled: Filled, query: Query, name: str) -> tuple[Cost, str]:
        self._runs += 1
        output = f"{filled.topic}-{query.name}-{self._runs}"
        cost = run(self._spark, filled, query, name, output)
        self._console.print(
            f"  [dim]{query.name}: {name}: {cost.elapsed:.2f} s, "
            f"CPU {cost.jvm:.2f} s JVM + {cost.python:.2f} s Python[/]",
            highlight=False,
        )
        return cost, output

    def _summary(
        self, filled: Filled, queries: list[Query], costs: dict[str, dict[str, list[Cost]]]
    ) -> list[Row]:
        rows: list[Row] = []
        count = filled.count
        for query in queries:
            medians = {
                name: Cost(*map(median, zip(*each, strict=True)))
                for name, each in costs[query.name].items()
            }
            what = f"{query.name}, {query.title}"
            speeds = {name: count / each.elapsed / 1000 for name, each in medians.items()}
            cpu = {name: each.cpu / count * 1e6 for name, each in medians.items()}
            rows += self._promised(what, speeds, cpu, query.cpu_ratio)
        return rows + self._promised(
            f"{filled.workload.name}, mean",
            _means(rows[0::2]),
            _means(rows[1::2]),
            CPU,
        )

    def _promised(
        self, what: str, speeds: dict[str, float], cpu: dict[str, float], cpu_ratio: float
    ) -> list[Row]:
        speed = {BASELINE: SPEED} if BASELINE in self._contenders else {}
        limit = cpu_ratio if speed else None
        return [
            Row(what, "k events/s", speeds, at_least_ratios=speed),
            Row(what, "CPU us/event", cpu, at_most_ratio=limit),
        ]


def _means(rows: list[Row]) -> dict[str, float]:
    """Geometric ones, so that all queries weigh the same."""
    return {
        name: prod(row.values[name] for row in rows) ** (1 / len(rows)) for name in rows[0].values
    }
