"""The query of a mirror, started and stopped; reports of its tasks go to listeners."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from barnabas.mirror.flow import Flow
from barnabas.mirror.round_report import ReportListener
from barnabas.spark.connector.data_source import stream_of
from barnabas.spark.mirror.mirror_connector import SCHEMA, MirrorConnector
from barnabas.spark.mirror.report_channel import ReportChannel

SHARED_ROUND_S = 5.0
"""Of flows that take turns, because there are fewer cores than flows."""


def open_channel(spark: SparkSession, listeners: Sequence[ReportListener]) -> ReportChannel:
    """Where tasks of this Spark reach the driver."""
    return ReportChannel(listeners, spark.sparkContext.getConf().get("spark.driver.host") or "")


def mirror_rounds(spark: SparkSession, flow: Flow, tasks: int, channel: ReportChannel) -> DataFrame:
    """Rounds of a flow, as a stream that has no rows: they are copied where it is written."""
    fields = StructType.fromDDL(SCHEMA)
    assert isinstance(fields, StructType)
    return stream_of(spark, MirrorConnector(flow, tasks, channel.address), fields)


class MirrorQuery(NamedTuple):
    """A query that runs, and the channel that has to be closed after it."""

    query: StreamingQuery
    channel: ReportChannel


def start_mirror(
    spark: SparkSession,
    flow: Flow,
    checkpoint: str,
    listeners: Sequence[ReportListener] = (),
    *,
    flows: int = 1,
) -> MirrorQuery:
    """Copy until the query is stopped. The checkpoint may be lost: positions are in the target.

    Tasks keep cores of Spark; so many `flows` share them.
    """
    cores = spark.sparkContext.defaultParallelism
    if cores < flows:
        flow = replace(flow, round_s=min(flow.round_s, SHARED_ROUND_S))
    channel = open_channel(spark, listeners)

    def end(rows: DataFrame, _number: int) -> None:
        rows.collect()
        channel.check()

    with ExitStack() as on_failure:
        on_failure.callback(channel.close)
        query = (
            mirror_rounds(spark, flow, max(1, cores // flows), channel)
            .writeStream.foreachBatch(end)
            .queryName(f"mirror {flow.name}")
            .option("checkpointLocation", checkpoint)
            .start()
        )
        on_failure.pop_all()
    return MirrorQuery(query, channel)
