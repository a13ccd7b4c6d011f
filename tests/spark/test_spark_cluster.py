"""A real Spark cluster, a master and two workers: only the master's address changes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep

import psutil
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

import barnabas
import barnabas.spark
from barnabas.embedded.ports import Ports
from barnabas.spark.sessions.java import java_home
from tests.spark.sink.test_killed_sinks import RECORDS, check, start
from tests.support.machine import SHORT_LIVED
from tests.support.processes import command_line
from tests.support.wait import wait_until

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]

DEATHS = {"worker": 500, "executor": 1500}
"""Who is killed when a value beyond this is first seen."""


class Processes:
    """Processes with a log for each, which end with the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *command: str) -> "subprocess.Popen[bytes]":
        environment = {
            **os.environ,
            "JAVA_HOME": str(java_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        }
        environment.pop("SPARK_HOME", None)
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env=environment, cwd=Path.cwd()
            )
        self._started[name] = process
        return process

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-5_000:]

    def end(self) -> None:
        for process in reversed(self._started.values()):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    processes = Processes(tmp_path_factory.mktemp("spark-cluster"))
    yield processes
    processes.end()


@pytest.fixture(scope="module")
def master(processes: Processes) -> Iterator[str]:
    """Its address; with two workers of one core each."""
    spark_class = str(Path(sys.executable).parent / "spark-class")
    package = "org.apache.spark.deploy"
    with closing(Ports(1)) as held:
        (port,) = held.numbers
        url = f"spark://127.0.0.1:{port}"
        where = ["--host", "127.0.0.1", "--webui-port", "0"]
        own = [*where, "--port", str(port)]
        processes.start("master", spark_class, f"{package}.master.Master", *own)
        for name in ("worker-1", "worker-2"):
            size = ["--cores", "1", "--memory", "1g", "--work-dir", str(processes.folder / name)]
            processes.start(name, spark_class, f"{package}.worker.Worker", *where, *size, url)
        yield url


@pytest.fixture(scope="module")
def brokers() -> Iterator[barnabas.Cluster]:
    settings = {"transaction.two.phase.commit.enable": True, "num.partitions": 2}
    with barnabas.Cluster(3, settings=settings) as cluster:
        with barnabas.Producer(cluster.bootstrap_servers) as producer:
            for number in range(RECORDS):
                producer.send("in", b"%d" % number, key=b"%d" % number)
        yield cluster


def job(bootstrap: str, master: str, folder: str) -> None:
    """What runs in the driver: a batch read, and a stream whose tasks wait for their death."""
    conf = {
        "spark.ui.enabled": False,
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.executor.extraJavaOptions": SHORT_LIVED,
    }
    spark = barnabas.spark.session("cluster", master, **conf)

    @udf("binary", useArrow=False)
    def waits_to_be_killed(value: bytearray) -> bytearray:
        for name, limit in DEATHS.items():
            if int(value) > limit:
                try:
                    (Path(folder) / f"{name}.claim").touch(exist_ok=False)
                except FileExistsError:
                    continue
                written = Path(folder) / f"{name}.{os.getpid()}"
                written.write_text(str(os.getpid()))
                written.rename(Path(folder) / name)
                sleep(600)
        return value

    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": "in", "minPartitions": "4"}
    rows = spark.read.format("barnabas").options(**given).load()
    assert sorted(int(row.value) for row in rows.collect()) == list(range(RECORDS))
    query = start(
        spark,
        bootstrap,
        "out",
        Path(folder) / "checkpoint",
        lambda frame: frame.withColumn("value", waits_to_be_killed("value")),
    )
    query.awaitTermination()
    spark.stop()


def test_executors_die_in_the_middle_of_a_batch_and_the_query_does_not_even_fail(
    spark: SparkSession,
    processes: Processes,
    master: str,
    brokers: barnabas.Cluster,
    tmp_path: Path,
) -> None:
    program = "import sys; from tests.spark.test_spark_cluster import job; job(*sys.argv[1:])"
    arguments = (brokers.bootstrap_servers, master, str(tmp_path))
    driver = processes.start("driver", sys.executable, "-c", program, *arguments)
    for name in DEATHS:
        written = tmp_path / name
        wait_until(lambda: written.exists() or driver.poll() is not None, timeout_s=400)  # noqa: B023
        assert written.exists(), processes.log("driver")
        victim = psutil.Process(int((tmp_path / name).read_text()))
        if name == "executor":  # of a Python worker the daemon is the parent, and its the JVM
            victim = victim.parents()[1]
            assert "CoarseGrainedExecutorBackend" in command_line(victim)
        victim.send_signal(signal.SIGKILL)
    assert driver.wait(400) == 0, processes.log("driver")
    check(spark, brokers.bootstrap_servers, "out")


def test_a_pipeline_runs_there(
    spark: SparkSession,
    processes: Processes,
    master: str,
    brokers: barnabas.Cluster,
    tmp_path: Path,
) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "spelling.py").write_text("def loud(word): return word.upper()\n")
    (tmp_path / "pipelines" / "shout.py").write_text(
        "from pyspark.sql import functions as F\n"
        "from barnabas.spark.pipelines import from_topic, pipeline, to_topic\n"
        "from spelling import loud\n"
        "@pipeline(sources={'words': from_topic('words', 'word STRING')},\n"
        "          sink=to_topic('shouted'))\n"
        "def shout(words):\n"
        "    shouted = F.udf(lambda word: loud(word), 'string')\n"
        "    return words.select(shouted('word').alias('word'))\n"
    )
    with barnabas.Producer(brokers.bootstrap_servers) as producer:
        producer.send("words", b'{"word": "hello"}')
    command = [sys.executable, "-m", "barnabas", "pipeline", "run", str(tmp_path / "pipelines")]
    where = ["--master", master, "--bootstrap", brokers.bootstrap_servers]
    run = processes.start("pipeline", *command, "--once", *where)
    assert run.wait(400) == 0, processes.log("pipeline")
    given = {"kafka.bootstrap.servers": brokers.bootstrap_servers, "subscribe": "shouted"}
    (row,) = spark.read.format("barnabas").options(**given).load().collect()
    assert bytes(row.value) == b'{"word":"HELLO"}'
