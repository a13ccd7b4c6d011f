"""Registers the format with a Spark session."""

import re

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.data_source import BarnabasDataSource
from barnabas.spark.sessions.kafka_name import INSTEAD, TAKEN, answer_to_kafka
from barnabas.spark.sessions.pipeline_events import pass_over_measurements

_IN_DEFINITION = "SESSION_MUTATION_IN_DECLARATIVE_PIPELINE"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"

LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\d+)?\])?$")
"""A master that is this process, and how many cores it uses."""


def is_remote(spark: SparkSession) -> bool:
    """Whether this is a session of Spark Connect: the driver is another process."""
    return "pyspark.sql.connect" in type(spark).__module__


def register(spark: SparkSession, name: str = "barnabas") -> None:
    """Register the format `name`, which reads and writes topics, with this session.

    With `name="kafka"`, a job written for Spark's own Kafka source runs unchanged; not with Spark
    Connect. Enables `spark.sql.python.filterPushdown.enabled`, so that batch reads can use filters.
    Where it is not enabled and can't be, as in the definition of a declarative pipeline, batch
    reads fetch everything and Spark filters.
    """
    wants_kafka = name.lower() == TAKEN
    if wants_kafka and is_remote(spark):
        raise InvalidArgument(
            'name="kafka" does not work with Spark Connect, whose server keeps that name for '
            'Spark\'s own connector: use register(spark) and format("barnabas")'
        )
    format_name, cores = INSTEAD if wants_kafka else name, _cores(spark)
    pushes = _enable_pushdown(spark)

    # One class for each name, which is sent to Spark's workers by value.
    class Registered(BarnabasDataSource):
        parallelism = cores
        takes_filters = pushes

        @classmethod
        def name(cls) -> str:
            return format_name

    spark.dataSource.register(Registered)
    if is_remote(spark):
        pass_over_measurements(spark)
    if format_name == INSTEAD:
        answer_to_kafka(spark)


def _enable_pushdown(spark: SparkSession) -> bool:
    """Enable filter pushdown; False if it is disabled and can't be enabled."""
    if spark.conf.get(PUSHDOWN, "false") == "true":
        return True
    try:
        spark.conf.set(PUSHDOWN, "true")
    except PySparkException as error:
        if (error.getCondition() or "").startswith(_IN_DEFINITION):
            return False
        raise
    return True


def _cores(spark: SparkSession) -> int | None:
    """How many tasks run at once; None if that is not known.

    The executors of a cluster change, and have not started when a session starts. A remote session
    does not report the number.
    """
    try:
        context = spark.sparkContext
    except PySparkException:
        return None
    is_known = LOCAL.match(context.master or "") or context.getConf().contains(
        "spark.default.parallelism"
    )
    return context.defaultParallelism if is_known else None
