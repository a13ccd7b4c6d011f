"""Exactly-once streams of a real Spark, whose driver and workers are killed with kill -9."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.streaming import StreamingQuery

import barnabas
from barnabas.client.admin.transactions import TransactionListing, list_transactions
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.spark.sink.commit_log import PREFIX
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

pytestmark = [pytest.mark.drivers, pytest.mark.timeout(900)]

RECORDS = 2_000
PARTITIONS = 2


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"transaction.two.phase.commit.enable": "true", "num.partitions": str(PARTITIONS)}
    with BrokerProcess(tmp_path_factory.mktemp("node"), settings) as broker:
        with barnabas.Producer(broker.bootstrap) as producer:
            for number in range(RECORDS):
                producer.send("in", b"%d" % number, key=b"%d" % number)
        yield broker


def start(
    spark: SparkSession,
    bootstrap: str,
    target: str,
    checkpoint: Path,
    through: Callable[[DataFrame], DataFrame] = lambda frame: frame,
    *,
    ends: bool = True,
) -> StreamingQuery:
    """Many small batches, and the end when all is read, or never."""
    frame = (
        spark.readStream.format("barnabas")
        .options(**{"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest"})
        .options(subscribe="in", maxOffsetsPerTrigger=str(RECORDS // 4), minPartitions="2")
        .load()
        .select("key", "value")
    )
    writing = (
        through(frame)
        .writeStream.format("barnabas")
        .options(**{"kafka.bootstrap.servers": bootstrap, "deliveryGuarantee": "exactly-once"})
        .options(topic=target, checkpointLocation=str(checkpoint))
    )
    return (writing.trigger(availableNow=True) if ends else writing).start()


def open_transactions(bootstrap: str) -> list[TransactionListing]:
    async def ask() -> list[TransactionListing]:
        async with ClusterClient(bootstrap) as cluster:
            found = await list_transactions(cluster, states=["Ongoing"])
            return [each for each in found if each.transactional_id.startswith(PREFIX)]

    return asyncio.run(ask())


def check(spark: SparkSession, bootstrap: str, target: str) -> None:
    found = (
        spark.read.format("barnabas")
        .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": target})
        .load()
        .collect()
    )
    assert sorted(int(each.value) for each in found) == list(range(RECORDS))
    assert open_transactions(bootstrap) == []


def test_a_killed_driver(spark: SparkSession, node: BrokerProcess, tmp_path: Path) -> None:
    """It is killed while transactions are open, and what it has started with it, more or less."""
    program = (
        "import sys; from pathlib import Path; import barnabas.spark;"
        "from tests.spark.sink.test_killed_sinks import start;"
        "spark = barnabas.spark.session('killed', 'local[2]', **{'spark.ui.enabled': False});"
        "start(spark, sys.argv[1], 'killed', Path(sys.argv[2])).awaitTermination()"
    )
    with (tmp_path / "log").open("w") as log:
        driver = subprocess.Popen(
            [sys.executable, "-c", program, node.bootstrap, str(tmp_path / "checkpoint")],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:

            def is_writing() -> object:
                assert driver.poll() is None, (tmp_path / "log").read_text()
                return open_transactions(node.bootstrap)

            wait_until(is_writing, "nothing is written")
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
    start(spark, node.bootstrap, "killed", tmp_path / "checkpoint").awaitTermination(240)
    check(spark, node.bootstrap, "killed")


def test_a_killed_worker(spark: SparkSession, node: BrokerProcess, tmp_path: Path) -> None:
    """A worker dies in the middle of a batch: the query fails, and is started again."""
    flags = str(tmp_path)

    @udf("binary", useArrow=False)
    def dies_twice(value: bytearray) -> bytearray:
        for limit in (500, 1500):
            flag = Path(flags) / f"died-{limit}"
            if int(value) > limit and not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return value

    deaths = 0
    while True:
        query = start(
            spark,
            node.bootstrap,
            "dying",
            tmp_path / "checkpoint",
            lambda frame: frame.withColumn("value", dies_twice("value")),
        )
        try:
            query.awaitTermination(240)
            break
        except StreamingQueryException:
            deaths += 1
    assert deaths == 2
    check(spark, node.bootstrap, "dying")


def test_killed_brokers(spark: SparkSession, tmp_path: Path) -> None:
    """One after the other, in the middle of a batch each: the query does not even fail."""
    settings = {"transaction.two.phase.commit.enable": True, "num.partitions": PARTITIONS}
    with barnabas.Cluster(3, settings=settings) as cluster:
        bootstrap = cluster.bootstrap_servers
        for topic in ("in", "out"):
            cluster.create_topic(topic, partitions=PARTITIONS)
        with barnabas.Producer(bootstrap) as producer:
            query = start(spark, bootstrap, "out", tmp_path / "checkpoint", ends=False)
            try:
                for node, first in zip(
                    cluster.nodes, range(0, RECORDS, RECORDS // 3), strict=False
                ):
                    until = RECORDS if node == cluster.nodes[-1] else first + RECORDS // 3
                    for number in range(first, until):
                        producer.send("in", b"%d" % number)
                    producer.flush()
                    has_all = partial(has_written, query, until)
                    wait_for(query, lambda: open_transactions(bootstrap) or has_all())  # noqa: B023 - waits here
                    cluster.kill(node)
                    wait_for(query, has_all)
                    cluster.repair()
            finally:
                query.stop()
        check(spark, bootstrap, "out")


def has_written(query: StreamingQuery, rows: int) -> bool:
    return sum(each.numInputRows for each in query.recentProgress) >= rows


def wait_for(query: StreamingQuery, condition: Callable[[], object]) -> None:
    def holds() -> object:
        assert query.isActive, str(query.exception())
        return condition()

    wait_until(holds, lambda: str(query.lastProgress))
