"""Writes any DataFrame to a topic, in Spark programs that are not pipelines."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines.sinks.topic import to_topic


def write_topic(
    rows: DataFrame,
    topic: str,
    *,
    key: str | Sequence[str] | None = None,
    bootstrap_servers: str = "localhost:9092",
    security: Mapping[str, str] | None = None,
    **options: Any,
) -> None:
    """Write the rows of a table, files, or any other DataFrame that is not a stream to a topic.

    Delivery is at least once, because an interrupted batch can't be finished. For exactly once,
    define a pipeline, and run it with `barnabas pipeline run --once`.
    """
    if rows.isStreaming:
        raise InvalidArgument("write_topic can't write a stream: use to_topic in a pipeline")
    sink = to_topic(topic, key=key, **options)
    cluster = ClusterAddress(bootstrap_servers, security or {})
    writer = sink.records(rows).write.format("barnabas").options(**cluster.options(sink.options))
    writer.option("topic", topic).mode("append").save()
