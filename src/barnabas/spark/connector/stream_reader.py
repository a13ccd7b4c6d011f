"""Micro-batches of a connector: Spark's offsets are its positions.

Spark keeps one reader in a separate process for as long as a query runs, and asks it where each
micro-batch ends; tasks use copies of it.

An offset is `{"version": 1, "position": {...}}`, which nothing takes for offsets of a topic.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from barnabas.spark.cluster.worker_memory import freeze_loaded_objects
from barnabas.spark.connector.connector import Connector, Position
from barnabas.spark.connector.row_batches import row_batches

Json = dict[str, Any]


class PositionRange(InputPartition):
    """What is between two positions."""

    def __init__(self, start: Json, end: Json) -> None:
        super().__init__(None)
        self.start = start
        self.end = end


def _offset(position: Position) -> Json:
    return {"version": 1, "position": dict(position)}


class ConnectorStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Asks a connector where micro-batches end, and reads them."""

    def __init__(self, connector: Connector, schema: StructType) -> None:
        self._connector = connector
        self._schema = schema
        self._initial: Json | None = None
        self._latest: Json | None = None
        self._is_bounded: bool | None = False

    def initialOffset(self) -> Json:  # noqa: N802 - Spark's
        # Spark asks twice, to plan the first batch and to run it: the answer has to be the same.
        if self._initial is None:
            self._initial = _offset(self._connector.initial())
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        self._is_bounded = None  # it will be, once the position is known

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # noqa: ARG002, N802 - Spark's
        # Spark asks for the next batch once it has saved that all before it is done.
        position = start["position"]
        self._connector.committed(position)
        if self._is_bounded is None:
            self._connector.bound(position)
            self._is_bounded = True
        self._latest = _offset(self._connector.latest(position))
        return self._latest

    def reportLatestOffset(self) -> Json | None:  # noqa: N802 - Spark's
        return self._latest

    def commit(self, end: Json) -> None:
        """Do nothing: Spark calls it late, and not after the last batch. See `latestOffset`."""

    def stop(self) -> None:
        self._connector.close()

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        if start == end:
            return []
        return [
            PositionRange(dict(first), dict(last))
            for first, last in self._connector.split(start["position"], end["position"])
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, PositionRange)
        freeze_loaded_objects()
        rows = self._connector.read(partition.start, partition.end)
        return row_batches(rows, self._schema)
