"""Registers the format with a Spark session."""

import re

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from barnabas.spark.data_source import BarnabasDataSource
from barnabas.spark.sessions.kafka_name import INSTEAD, TAKEN, answer_to_kafka

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"

LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\d+)?\])?$")
"""A master that is this process, and how many cores it uses."""


def register(spark: SparkSession, name: str = "barnabas") -> None:
    """Make `format(name)` read from topics, in this session.

    With `name="kafka"` a job that was written for Spark's own Kafka source runs as it is. Sets
    `spark.sql.python.filterPushdown.enabled`, without which Spark refuses sources that can filter.
    """
    format_name, cores = INSTEAD if name.lower() == TAKEN else name, _cores(spark)

    # One class for each name, which is sent to Spark's workers by value.
    class Registered(BarnabasDataSource):
        parallelism = cores

        @classmethod
        def name(cls) -> str:
            return format_name

    spark.conf.set(PUSHDOWN, "true")
    spark.dataSource.register(Registered)
    if format_name == INSTEAD:
        answer_to_kafka(spark)


def _cores(spark: SparkSession) -> int | None:
    """How many tasks run at once; None if that is not known.

    The executors of a cluster come and go, and have not started when a session starts. A remote
    session does not tell.
    """
    try:
        context = spark.sparkContext
    except PySparkException:
        return None
    is_known = LOCAL.match(context.master or "") or context.getConf().contains(
        "spark.default.parallelism"
    )
    return context.defaultParallelism if is_known else None
