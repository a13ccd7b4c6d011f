"""Compacts small files of a Parquet table into large ones, while it is written and read.

Spark reads the files of a partition and writes them as one, so every type that it has written is
supported. The table decides when the new file replaces the old ones (`table`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet
from pyspark.sql import SparkSession

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.environment import applied
from barnabas.spark.pipelines.parquet.folder_exchange import SwapError
from barnabas.spark.pipelines.parquet.table import OF_SPARK, ParquetTable

TARGET_BYTES = 128 * 1024 * 1024


class CompactionError(BarnabasError):
    """A table can't be compacted; its files stay as they are."""


@dataclass(frozen=True)
class Compacted:
    """The result for one partition."""

    partition: str
    files_before: int
    files_after: int
    rows: int


def compact_parquet(
    spark: SparkSession,
    path: str | Path,
    *,
    at_least: int = 2,
    thrifty: bool = False,
    target_bytes: int = TARGET_BYTES,
) -> list[Compacted]:
    """Merge the small files in each partition of a table; returns the changed partitions.

    The pipeline that writes the table may run, and readers may read. Files of `target_bytes` or
    more stay unchanged, and so does a partition with fewer than `at_least` small files. With
    `thrifty`, a file waits until the smaller ones together are as large as it is, so that rows are
    not rewritten repeatedly.
    """
    table = ParquetTable(Path(str(path).removeprefix("file://")))
    if not table.folder.is_dir():
        raise InvalidArgument(f"folder {table.folder} does not exist")
    if (table.folder / OF_SPARK).exists():
        raise InvalidArgument(
            f"the table in {table.folder} was written by Spark's own sink, whose log names each "
            "file: its files can't be replaced"
        )
    with table.compacting() as is_mine:
        if not is_mine:
            raise CompactionError(f"the table in {table.folder} is being compacted already")
        table.sweep()
        with applied(spark, {}):
            return compact_partitions(
                spark, table, table.partitions(), at_least, target_bytes, thrifty=thrifty
            )


def compact_partitions(
    spark: SparkSession,
    table: ParquetTable,
    partitions: Iterable[Path],
    at_least: int,
    target_bytes: int = TARGET_BYTES,
    *,
    thrifty: bool,
) -> list[Compacted]:
    """The same for some partitions; the caller holds `table.compacting()`."""
    done = []
    for partition in partitions:
        files = [each for each in partition.glob("*.parquet") if each.name[0] not in "._"]
        small = chosen({each: each.stat().st_size for each in files}, target_bytes, thrifty=thrifty)
        if len(small) >= at_least:
            changed = _compact(spark, table, partition, small, target_bytes)
            if changed is not None:
                done.append(changed)
    return done


def chosen(sizes: dict[Path, int], target_bytes: int, *, thrifty: bool) -> list[Path]:
    """The files to merge, smallest first."""
    small = sorted((size, file) for file, size in sizes.items() if size < target_bytes)
    taken, total = 0, 0
    for index, (size, _) in enumerate(small):
        if not thrifty or size <= total:
            taken = index + 1
        total += size
    return [file for _, file in small[:taken]]


def _compact(
    spark: SparkSession,
    table: ParquetTable,
    partition: Path,
    old: Sequence[Path],
    target_bytes: int,
) -> Compacted | None:
    staged = table.stage()
    size = sum(each.stat().st_size for each in old)
    rows = sum(parquet.read_metadata(each).num_rows for each in old)
    read = spark.read.option("mergeSchema", "true").parquet(*(f"file://{each}" for each in old))
    read.coalesce(max(1, round(size / target_bytes))).write.parquet(f"file://{staged}/written")
    written = sorted((staged / "written").glob("*.parquet"))
    if sum(parquet.read_metadata(each).num_rows for each in written) != rows:
        raise CompactionError(
            f"{partition} has {rows} rows, but the files in {staged} that should replace them "
            "have a different number: the partition stays as it is"
        )
    new = staged / "new"
    new.mkdir()
    for index, each in enumerate(written):
        each.rename(new / f"compacted-{staged.name}-{index}.parquet")
    try:
        if not table.replace(partition, old, new):
            return None
    except SwapError as error:
        raise CompactionError(
            f"{table.folder} can't be compacted: {error.strerror}. Readers would see rows twice "
            "or not at all; most network file systems do not support this"
        ) from error
    name = str(partition.relative_to(table.folder))
    return Compacted(name, len(old), len(written), rows)
