"""Topics as DataFrames, in Spark programs that are not pipelines."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines.environment import BrokerRecords, Environment
from barnabas.spark.pipelines.sources.table import from_table
from barnabas.spark.pipelines.sources.topic import from_topic


def read_topic(
    spark: SparkSession,
    topic: str,
    schema: str | StructType | None = None,
    *,
    bootstrap_servers: str = "localhost:9092",
    security: Mapping[str, str] | None = None,
    skip_undecodable: bool = False,
    **arguments: Any,
) -> DataFrame:
    """The stream that `from_topic` describes, with the same arguments except `dead_letters`.

    Records that can't be decoded raise an error, or are skipped (`skip_undecodable`), and
    `read_undecodable` returns them. `security` has Kafka's client settings for encryption and
    authentication.
    """
    source = from_topic(topic, schema, skip_undecodable=skip_undecodable, **arguments)
    return source.load(_environment(spark, bootstrap_servers, security))


def read_undecodable(
    spark: SparkSession,
    topic: str,
    schema: str | StructType,
    *,
    bootstrap_servers: str = "localhost:9092",
    security: Mapping[str, str] | None = None,
    **arguments: Any,
) -> DataFrame:
    """The records that `read_topic` skips, as a stream for a dead-letter topic."""
    source = from_topic(topic, schema, skip_undecodable=True, **arguments)
    return source.load_undecodable(_environment(spark, bootstrap_servers, security))


def read_table(
    spark: SparkSession,
    topic: str,
    schema: str | StructType,
    *,
    bootstrap_servers: str = "localhost:9092",
    security: Mapping[str, str] | None = None,
    **arguments: Any,
) -> DataFrame:
    """The table that `from_table` describes: the latest row of every key of a compacted topic."""
    source = from_table(topic, schema, **arguments)
    return source.load(_environment(spark, bootstrap_servers, security))


def _environment(
    spark: SparkSession, bootstrap_servers: str, security: Mapping[str, str] | None
) -> Environment:
    cluster = ClusterAddress(bootstrap_servers, security or {})
    return Environment(spark, BrokerRecords(cluster), cluster)
