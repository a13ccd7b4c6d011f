"""Micro-batches of a stream, written by Spark into a Parquet table of ours."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from barnabas.spark.pipelines.parquet.compaction import compact_partitions
from barnabas.spark.pipelines.parquet.table import ParquetTable
from barnabas.spark.pipelines.writer import Writer

_QUERY_ID = "sql.streaming.queryId"


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
        query = spark.sparkContext.getLocalProperty(_QUERY_ID)
        assert query is not None

        def write(folder: Path) -> int:
            counted = Observation()
            writer = rows.observe(counted, F.count(F.lit(1)).alias("rows")).write
            if self._partition_by:
                writer = writer.partitionBy(*self._partition_by)
            writer.options(**self._options).format(self._format).save(f"file://{folder}")
            return int(counted.get["rows"])

        touched = self._table.add(query, number, write, self._writer)
        with self._table.compacting() as is_mine:
            if is_mine:  # else another process is compacting
                self._table.sweep()
                if self._compact:
                    compact_partitions(spark, self._table, touched, self._compact, thrifty=True)


def is_local(spark: SparkSession, path: str) -> bool:
    """Whether a path is one of this machine's, for Spark too."""
    if "://" in path:
        return path.startswith("file://")
    default: str = spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS")
    return default.startswith("file:")
