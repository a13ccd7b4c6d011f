"""Micro-batches handed to a connector's `write`, each partition by the task that has it."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from barnabas.spark.connector.class_module import send_by_value
from barnabas.spark.connector.connector import Connector, WrittenBatch

QUERY_ID = "sql.streaming.queryId"


class ConnectorBatches:
    """What `foreachBatch` calls."""

    def __init__(self, connector: Connector) -> None:
        send_by_value(connector)
        self._connector = connector

    def __call__(self, rows: DataFrame, number: int) -> None:
        connector, query = self._connector, query_of_batch(rows)

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            task = TaskContext.get()
            assert task is not None
            connector.write(_rows(batches), WrittenBatch(query, number, task.partitionId()))
            yield from ()

        rows.mapInArrow(write, "written BOOLEAN").write.format("noop").mode("append").save()


def query_of_batch(rows: DataFrame) -> str:
    """The id of the query whose batch this is."""
    query = rows.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
    assert query is not None
    return query


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()
