"""A first query. It takes seconds, for classes to be loaded and Python workers to be started.

An instance that stands by has done it before it has to take over.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines.connectors.pipeline_files import pipelines_of
from barnabas.spark.pipelines.run.pipeline_run import PipelineRun
from barnabas.spark.pipelines.run.run_folder import RunFolder


def warm_up(spark: SparkSession, cluster: ClusterAddress, topic: str) -> None:
    """Run a connector that reads a topic that there is, and writes nothing to it."""
    config = {
        "name": "warm-up",
        "connector.class": "to_topic",
        "topic": topic,
        "exactly.once": "false",
        "topics": topic,
        "source.schema": "state STRING",
        "errors.tolerance": "all",
        "transform.sql": "SELECT state FROM source WHERE state = 'no such state'",
    }
    with TemporaryDirectory() as folder:
        pipelines = pipelines_of(config, Path(folder), lambda: spark)
        with PipelineRun(
            spark,
            pipelines,
            cluster.bootstrap_servers,
            RunFolder(Path(folder)),
            once=True,
            security=cluster.security,
        ) as run:
            run.wait()
