"""Topics as DataFrames, in Spark programs that are not pipelines."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from barnabas.spark.pipelines.environment import BrokerRecords, Environment
from barnabas.spark.pipelines.sources.table import from_table
from barnabas.spark.pipelines.sources.topic import from_topic


def read_topic(
    spark: SparkSession,
    topic: str,
    schema: str | StructType | None = None,
    *,
    bootstrap_servers: str = "localhost:9092",
    skip_undecodable: bool = False,
    **arguments: Any,
) -> DataFrame:
    """The stream that `from_topic` describes, with its arguments but for `dead_letters`.

    Records that can't be decoded are an error, or left out (`skip_undecodable`): then
    `read_undecodable` has them.
    """
    source = from_topic(topic, schema, skip_undecodable=skip_undecodable, **arguments)
    return source.load(_environment(spark, bootstrap_servers))


def read_undecodable(
    spark: SparkSession,
    topic: str,
    schema: str | StructType,
    *,
    bootstrap_servers: str = "localhost:9092",
    **arguments: Any,
) -> DataFrame:
    """The stream of those records that `read_topic` leaves out, ready for a dead-letter topic."""
    source = from_topic(topic, schema, skip_undecodable=True, **arguments)
    return source.load_undecodable(_environment(spark, bootstrap_servers))


def read_table(
    spark: SparkSession,
    topic: str,
    schema: str | StructType,
    *,
    bootstrap_servers: str = "localhost:9092",
    **arguments: Any,
) -> DataFrame:
    """The table that `from_table` describes: the last row of every key of a compacted topic."""
    source = from_table(topic, schema, **arguments)
    return source.load(_environment(spark, bootstrap_servers))


def _environment(spark: SparkSession, bootstrap_servers: str) -> Environment:
    return Environment(spark, BrokerRecords(bootstrap_servers), bootstrap_servers)
