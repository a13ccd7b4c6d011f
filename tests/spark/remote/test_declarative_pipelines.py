"""Source and sink in Spark's declarative pipelines, run as `spark-pipelines run` does.

`spark-pipelines` starts a JVM that starts `pyspark/pipelines/cli.py`; that is what runs here, as a
client of the server that other tests use, too.
"""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from pyspark.pipelines import cli

import barnabas
from tests.support.broker import BrokerProcess

pytestmark = [
    pytest.mark.xdist_group("spark-connect"),  # one server for both files
    pytest.mark.drivers,
    pytest.mark.timeout(900),
]

SPEC = """
name: shop
storage: file://{folder}/storage
libraries:
  - glob:
      include: definitions.py
"""

DEFINITIONS = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

import barnabas.spark

spark = SparkSession.active()
barnabas.spark.register(spark)
BROKERS = {{"kafka.bootstrap.servers": "{bootstrap}"}}


@dp.temporary_view
def orders():
    options = {{**BROKERS, "subscribe": "sdp-orders", "startingOffsets": "earliest"}}
    return spark.readStream.format("barnabas").options(**options).load()


dp.create_sink("large", "barnabas", {{**BROKERS, "topic": "sdp-large"}})


@dp.append_flow(target="large")
def large_orders():
    return spark.readStream.table("orders").where("CAST(CAST(value AS STRING) AS INT) >= 50")


@dp.materialized_view
def order_counts():
    options = {{**BROKERS, "subscribe": "sdp-orders"}}
    rows = spark.read.format("barnabas").options(**options).load()
    return rows.where("offset >= 0").groupBy("partition").count()
"""


def run(server: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, cli.__file__, "run", "--spec", str(folder / "spark-pipeline.yml")],
        cwd=folder,
        env={**os.environ, "SPARK_REMOTE": server, "SPARK_CONNECT_MODE_ENABLED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stream_from_topic_to_topic_and_a_view_of_a_topic(
    connect_server: str, node: BrokerProcess, tmp_path: Path
) -> None:
    (tmp_path / "spark-pipeline.yml").write_text(SPEC.format(folder=tmp_path))
    (tmp_path / "definitions.py").write_text(DEFINITIONS.format(bootstrap=node.bootstrap))
    with barnabas.Admin(node.bootstrap) as admin, barnabas.Producer(node.bootstrap) as producer:
        for topic in ("sdp-orders", "sdp-large"):
            admin.create_topic(topic, partitions=1)
        for number in range(100):
            producer.send("sdp-orders", b"%d" % number)
        producer.flush()
        run(connect_server, tmp_path)
        assert values_of(node.bootstrap, "sdp-large") == [b"%d" % each for each in range(50, 100)]


def values_of(bootstrap: str, topic: str) -> list[bytes | None]:
    with barnabas.Admin(bootstrap) as admin:
        (end,) = admin.offsets(topic).values()
    with barnabas.Consumer(bootstrap, topic) as consumer:
        return [message.value for message in islice(consumer, end)]
