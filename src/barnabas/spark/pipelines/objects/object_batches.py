"""Micro-batches of a stream, written by Spark into a folder of this machine and uploaded."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from barnabas.spark.connector.batch_writer import query_of_batch
from barnabas.spark.pipelines.objects.object_table import ObjectTable
from barnabas.spark.pipelines.parquet.batches import written
from barnabas.spark.pipelines.writer import Writer


class ObjectBatches:
    """What `foreachBatch` calls."""

    def __init__(
        self,
        table: ObjectTable,
        partition_by: Sequence[str],
        options: Mapping[str, str],
        writer: Writer | None,
        format: str,  # noqa: A002 - Spark's word for it
    ) -> None:
        self._table = table
        self._partition_by = partition_by
        self._options = options
        self._writer = writer
        self._format = format

    def __call__(self, rows: DataFrame, number: int) -> None:
        def write(folder: Path) -> int:
            return written(rows, folder, self._format, self._partition_by, self._options)

        self._table.add(query_of_batch(rows), number, write, self._writer)
