"""Benchmarks of pipelines: their events are reproducible, and streams write what a batch does."""

import io
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.bench import CONNECTOR
from benchmarks.brokers import BARNABAS, Broker, Contender
from benchmarks.workloads.ad_events import ADS
from benchmarks.workloads.comparison import Comparison
from benchmarks.workloads.contenders import fill, fill_tables
from benchmarks.workloads.nexmark_queries import NEXMARK
from benchmarks.workloads.results import difference
from benchmarks.workloads.workload import Workload

_EVENTS = 2_000


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Contender(BARNABAS).running("unused") as broker:
        yield broker


@pytest.mark.parametrize("workload", [NEXMARK, ADS], ids=lambda each: each.name)
def test_events_are_the_same_every_time(workload: Workload) -> None:
    first, second = (list(workload.tables(200, 2)) for _ in range(2))
    assert first == second
    assert sum(table.num_rows for table in first[:-1]) == 200
    closing = [workload.closing in str(value) for table in first for value in table["value"]]
    assert closing == [False] * 200 + [True] * (len(closing) - 200)


@pytest.mark.parametrize(
    ("workload", "query", "contenders"),
    [
        pytest.param(NEXMARK, "q11", [BARNABAS, CONNECTOR], marks=pytest.mark.long),
        (ADS, "campaigns", [BARNABAS]),
    ],
)
def test_what_is_measured_writes_the_rows_of_a_batch(
    spark: SparkSession, broker: Broker, workload: Workload, query: str, contenders: list[str]
) -> None:
    fill_tables(broker, workload)
    filled = fill(broker, workload, _EVENTS, partitions=2)
    said = io.StringIO()
    comparison = Comparison(Console(file=said), spark, contenders)
    comparison.check(filled, next(each for each in workload.queries if each.name == query))
    assert said.getvalue().count("CPU") == len(contenders)


def test_a_stream_that_writes_other_rows_is_found_out() -> None:
    assert difference(Counter("ab"), Counter("ab")) is None
    assert "1 of 2 rows are missing and 0 are too many" in str(
        difference(Counter("a"), Counter("ab"))
    )


def test_the_cpu_of_workers_counts_that_outlive_their_parent() -> None:
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    code = f"""
import subprocess, sys, time
from types import SimpleNamespace
import psutil
from benchmarks import spark_side
spark_side.adopt_orphans()
broker = SimpleNamespace(pid=0)
before = sum(spark_side.cpu_s(broker))
subprocess.run([sys.executable, "-c", {orphan!r}], check=True)
while any(each.status() != psutil.STATUS_ZOMBIE for each in psutil.Process().children()):
    time.sleep(0.05)
print(sum(spark_side.cpu_s(broker)) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 0.5


def test_the_cpu_of_workers_counts_that_their_daemon_has_let_go() -> None:
    daemon = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
worker = os.fork()
if not worker:
    while time.process_time() < 0.5: pass
    print(flush=True)
    time.sleep(600)
sys.stdin.readline()
os.kill(worker, signal.SIGKILL)
while os.path.exists(f"/proc/{worker}"): time.sleep(0.01)
print(flush=True)
sys.stdin.readline()
"""
    code = f"""
import subprocess, sys
from types import SimpleNamespace
from benchmarks import spark_side
broker = SimpleNamespace(pid=0)
before = sum(spark_side.cpu_s(broker))
daemon = subprocess.Popen(
    [sys.executable, "-c", {daemon!r}, "pyspark.daemon"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
)
daemon.stdout.readline()
print(sum(spark_side.cpu_s(broker)) - before)
daemon.stdin.write(b"\\n")
daemon.stdin.flush()
daemon.stdout.readline()
print(sum(spark_side.cpu_s(broker)) - before)
daemon.stdin.close()
daemon.wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    alive, gone = map(float, done.stdout.split())
    assert 0.5 <= alive <= gone
