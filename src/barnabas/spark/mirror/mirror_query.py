"""The query of a mirror, started and stopped; each round is reported to listeners."""

import logging
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from barnabas.mirror.flow import Flow
from barnabas.mirror.round_report import SCHEMA, RoundListener, report_of
from barnabas.spark.connector.data_source import stream_of
from barnabas.spark.mirror.mirror_connector import MirrorConnector

_log = logging.getLogger("barnabas.mirror")


def start_mirror(
    spark: SparkSession,
    flow: Flow,
    checkpoint: str,
    listeners: Sequence[RoundListener] = (),
    *,
    flows: int = 1,
) -> StreamingQuery:
    """Copy until the query is stopped. The checkpoint may be lost: positions are in the target.

    Rounds keep cores of Spark busy for their length; so many `flows` share them. Between rounds
    other queries get their turn, while processes of tasks go on copying.
    """
    tasks = max(1, spark.sparkContext.defaultParallelism // flows)
    connector = MirrorConnector(flow, tasks)

    def report(rows: DataFrame, number: int) -> None:
        made = report_of([tuple(each) for each in rows.collect()])
        _log.debug("round %d of %s: %d records", number, flow.name, made.records)
        for each in listeners:
            each.on_round(made)

    fields = StructType.fromDDL(SCHEMA)
    assert isinstance(fields, StructType)
    rows = stream_of(spark, connector, fields)
    return (
        rows.writeStream.foreachBatch(report)
        .queryName(f"mirror {flow.name}")
        .option("checkpointLocation", checkpoint)
        .start()
    )
