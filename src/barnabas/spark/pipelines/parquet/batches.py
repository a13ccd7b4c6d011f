"""Micro-batches of a stream, written by Spark into a Parquet table of ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from barnabas.spark.connector.batch_writer import query_of_batch
from barnabas.spark.pipelines.parquet.compaction import compact_partitions
from barnabas.spark.pipelines.parquet.table import ParquetTable
from barnabas.spark.pipelines.writer import Writer


class ParquetBatches:
    """What `foreachBatch` calls."""

    def __init__(
        self,
        table: ParquetTable,
        partition_by: Sequence[str],
        compact: int,
        options: Mapping[str, str],
        writer: Writer | None = None,
        format: str = "parquet",  # noqa: A002 - Spark's word for it
    ) -> None:
        self._table = table
        self._format = format
        self._partition_by = partition_by
        self._compact = compact
        self._options = options
        self._writer = writer

    def __call__(self, rows: DataFrame, number: int) -> None:
        spark = rows.sparkSession

        def write(folder: Path) -> int:
            return written(rows, folder, self._format, self._partition_by, self._options)

        touched = self._table.add(query_of_batch(rows), number, write, self._writer)
        with self._table.compacting() as is_mine:
            if is_mine:  # else another process is compacting
                self._table.sweep()
                if self._compact:
                    compact_partitions(spark, self._table, touched, self._compact, thrifty=True)


def written(
    rows: DataFrame,
    folder: Path,
    format: str,  # noqa: A002 - Spark's word for it
    partition_by: Sequence[str],
    options: Mapping[str, str],
) -> int:
    """Write rows to files in a folder of this machine; returns how many they are."""
    counted = Observation()
    writer = rows.observe(counted, F.count(F.lit(1)).alias("rows")).write
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    writer.options(**options).format(format).save(f"file://{folder}")
    return int(counted.get["rows"])


def is_local(spark: SparkSession, path: str) -> bool:
    """Whether a path is one of this machine's, for Spark too."""
    if "://" in path:
        return path.startswith("file://")
    default: str = spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS")
    return default.startswith("file:")
