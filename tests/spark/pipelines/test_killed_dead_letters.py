"""Pipelines of a real Spark that are killed with kill -9: each record is a row or a dead letter.

Partitions are split among tasks, so that several write dead letters of one partition at once.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

import barnabas
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineRun,
    RunFolder,
    expect,
    from_topic,
    pipeline,
    to_topic,
)
from tests.support.all_records import all_records
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

pytestmark = [pytest.mark.drivers, pytest.mark.timeout(900)]

RECORDS = 2_000
PARTITIONS = 2
SCHEMA = "n BIGINT NOT NULL, good BOOLEAN"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"transaction.two.phase.commit.enable": "true", "num.partitions": str(PARTITIONS)}
    with BrokerProcess(tmp_path_factory.mktemp("node"), settings) as broker:
        with barnabas.Producer(broker.bootstrap) as producer:
            for number in range(RECORDS):
                producer.send("in", value_of(number), key=b"%d" % number)
        yield broker


def value_of(number: int) -> bytes:
    """Of five records, one can't be decoded, one fails a rule, and three become rows."""
    if number % 5 == 0:
        return b"bad"
    return b'{"n": %d, "good": %s}' % (number, b"false" if number % 5 == 1 else b"true")


def pipeline_to(name: str, flags: Path | None = None, schema: str = SCHEMA) -> Pipeline:
    """Two batches; with `flags`, its worker dies twice, when the letters were written."""

    @udf("bigint", useArrow=False)
    def dies_twice(number: int) -> int:
        for limit in (500, 1500):
            flag = Path(str(flags)) / f"died-{limit}"
            if flags is not None and number > limit and not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return number

    @pipeline(
        name=name,
        sources={
            "numbers": from_topic(
                "in",
                schema,
                key="key",
                dead_letters=f"{name}-dead",
                expect=[expect("good", on_failure="dead_letter")],
                maxOffsetsPerTrigger=RECORDS // 2,
                minPartitions=4,
            )
        },
        sink=to_topic(name, key="key", exactly_once=True),
    )
    def copied(numbers: DataFrame) -> DataFrame:
        return numbers.select("key", dies_twice("n").alias("n"))

    return copied


def run(spark: SparkSession, defined: Pipeline, bootstrap: str, folder: Path) -> PipelineRun:
    """Run it to its end; what fails is restarted."""
    with PipelineRun(
        spark, [defined], bootstrap, RunFolder(folder), once=True, max_restarts=5
    ) as running:
        running.wait()
    return running


def keys_in(bootstrap: str, topic: str) -> list[int]:
    return [int(each.key or b"") for each in all_records(bootstrap, topic)]


def check(bootstrap: str, name: str) -> None:
    rows, letters = keys_in(bootstrap, name), keys_in(bootstrap, f"{name}-dead")
    assert sorted(rows) == [n for n in range(RECORDS) if n % 5 > 1]
    assert sorted(letters) == [n for n in range(RECORDS) if n % 5 <= 1]


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(SCHEMA, id="reader"),
        pytest.param(f"{SCHEMA}, v VARIANT", id="spark", marks=pytest.mark.long),
    ],
)
def test_a_killed_worker(
    spark: SparkSession, node: BrokerProcess, tmp_path: Path, schema: str
) -> None:
    """By whom values are decoded depends on the schema: where they are read, or by Spark."""
    name = f"worker-{len(schema)}"
    finished = run(spark, pipeline_to(name, tmp_path, schema), node.bootstrap, tmp_path / "runs")
    assert finished.queries[0].restarts == 2
    assert finished.queries[0].progress.dead_letters == RECORDS * 2 // 5
    check(node.bootstrap, name)


@pytest.mark.long  # test_killed_sinks has the driver of a sink killed
def test_a_killed_driver(spark: SparkSession, node: BrokerProcess, tmp_path: Path) -> None:
    """It is killed when dead letters of its first batch are there, with all that it has started."""
    program = (
        "import sys; from pathlib import Path; import barnabas.spark;"
        "from tests.spark.pipelines.test_killed_dead_letters import pipeline_to, run;"
        "spark = barnabas.spark.session('killed', 'local[2]', **{'spark.ui.enabled': False});"
        "run(spark, pipeline_to('driver'), sys.argv[1], Path(sys.argv[2]))"
    )
    with (tmp_path / "log").open("w") as log, barnabas.Admin(node.bootstrap) as admin:
        admin.create_topic("driver-dead", partitions=PARTITIONS)
        driver = subprocess.Popen(
            [sys.executable, "-c", program, node.bootstrap, str(tmp_path / "runs")],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:

            def has_written() -> object:
                assert driver.poll() is None, (tmp_path / "log").read_text()
                return any(admin.offsets("driver-dead", "latest").values())

            wait_until(has_written, "nothing is written")
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
    run(spark, pipeline_to("driver"), node.bootstrap, tmp_path / "runs")
    check(node.bootstrap, "driver")


def test_a_killed_broker(spark: SparkSession, node: BrokerProcess, tmp_path: Path) -> None:
    """It is killed when some dead letters are there, and comes back."""
    with barnabas.Admin(node.bootstrap) as admin:
        admin.create_topic("broker-dead", partitions=PARTITIONS)
        with PipelineRun(
            spark,
            [pipeline_to("broker")],
            node.bootstrap,
            RunFolder(tmp_path / "runs"),
            once=True,
            max_restarts=5,
        ) as running:
            running.wait(lambda: any(admin.offsets("broker-dead", "latest").values()))
            node.restart(kill=True)
            running.wait()
    check(node.bootstrap, "broker")
