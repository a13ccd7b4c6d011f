"""Any DataFrame to a topic, in programs of Spark's that are no pipelines."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.sinks.topic import to_topic


def write_topic(
    rows: DataFrame,
    topic: str,
    *,
    key: str | Sequence[str] | None = None,
    bootstrap_servers: str = "localhost:9092",
    **options: Any,
) -> None:
    """Write the rows of a table, of files, of whatever is no stream, as `to_topic` does.

    It is at least once: nobody finishes a batch that was interrupted. What has to be exactly once
    is a pipeline, which `barnabas pipeline run --once` runs as a batch.
    """
    if rows.isStreaming:
        raise InvalidArgument("write_topic is for what is no stream: to_topic is the sink of one")
    sink = to_topic(topic, key=key, **options)
    writer = sink.records(rows).write.format("barnabas").options(**sink.options)
    writer = writer.option("kafka.bootstrap.servers", bootstrap_servers).option("topic", topic)
    writer.mode("append").save()
