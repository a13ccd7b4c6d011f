"""Rows in a table of Parquet files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.errors import InvalidArgument
from barnabas.object_store import ObjectStore, is_object_url
from barnabas.spark.pipelines.argument_names import file_options
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.pipeline_error import PipelineError
from barnabas.spark.pipelines.objects.object_batches import ObjectBatches
from barnabas.spark.pipelines.objects.object_table import ObjectTable
from barnabas.spark.pipelines.parquet.batches import ParquetBatches, is_local
from barnabas.spark.pipelines.parquet.file_kind import FileKind
from barnabas.spark.pipelines.parquet.table import OF_SPARK, OURS, ParquetTable
from barnabas.spark.pipelines.pipeline_end import resolved_path
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink
from barnabas.spark.pipelines.writer import Writer

_FEWEST_FILES = 2


@dataclass(frozen=True)
class ParquetSink(Sink):
    """A table of Parquet files. See `to_parquet`."""

    path: str
    partition_by: tuple[str, ...] = ()
    compact: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    format: str = "parquet"

    def __post_init__(self) -> None:
        if self.compact and (self.compact < _FEWEST_FILES or not self.partition_by):
            raise InvalidArgument(
                f"compact={self.compact}: compact at least {_FEWEST_FILES} files, and set "
                "partition_by, since each partition is compacted separately"
            )
        if is_object_url(self.path):
            ObjectStore(self.path).check()
            if self.compact:
                raise InvalidArgument("compact: files in an object store are not compacted")

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        return ("append",)

    def describe(self) -> str:
        what = "Parquet" if self.format == "parquet" else f"{self.format} files"
        return f"{what} in {self._shown}"

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        return (("files", self._shown),)

    @property
    def _shown(self) -> str:
        return ObjectStore(self.path).description if is_object_url(self.path) else self.path

    def resolved(self, folder: Path) -> Self:
        return replace(self, path=resolved_path(self.path, folder))

    def as_version(self, version: str) -> Self:
        place, mark, parameters = self.path.partition("?")
        return replace(self, path=f"{place.rstrip('/')}-{version}{mark}{parameters}")

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del output_mode
        columns = [_named(each) for each in self.partition_by]
        for name, expression in columns:
            if expression is not None:
                rows = rows.withColumn(name, F.expr(expression))
        names = [name for name, _ in columns]
        objects = self._objects
        if objects is not None:
            return rows.writeStream.foreachBatch(
                ObjectBatches(objects, names, self.options, environment.writer, self.format)
            )
        if is_local(environment.spark, self.path):
            return rows.writeStream.foreachBatch(
                ParquetBatches(
                    self.table,
                    names,
                    self.compact,
                    self.options,
                    environment.writer,
                    self.format,
                )
            )
        if self.compact:
            raise InvalidArgument(f"compact: {self.path} is not in a file system of this machine")
        writer = rows.writeStream.format(self.format).option("path", self.path)
        if names:
            writer = writer.partitionBy(*names)
        return writer.options(**self.options)

    # -- the table on this machine ----------------------------------------------------------------

    @property
    def parquet_folder(self) -> Path | None:
        return self._present_folder if self.format == "parquet" else None

    @property
    def _present_folder(self) -> Path | None:
        logs = (self._folder / each for each in (OURS, OF_SPARK))
        return self._folder if any(each.is_dir() for each in logs) else None

    def check(self, writer: Writer, spark: SparkSession | None = None) -> None:
        """A table has the rows of exactly one query: another query is refused."""
        objects = self._objects
        if objects is not None:
            objects.check_present(writer.finished_batches)
            if writer.has_checkpoint is not None:
                objects.check_owner(writer.query_id if writer.has_checkpoint else None, writer)
            return
        # Without Spark it is not known whether a path is on this machine.
        is_here = self._present_folder is not None if spark is None else is_local(spark, self.path)
        if not is_here:
            return
        self.table.check_present(writer.finished_batches)
        if writer.has_checkpoint is not None:  # otherwise its first batch shows which query it is
            self.table.check_owner(writer.query_id if writer.has_checkpoint else None, writer)

    def output_to_delete(self, writer: Writer, *, delete: bool) -> list[Path]:
        if self._objects is not None:
            return self._objects_to_delete(self._objects, writer, delete=delete)
        table = self._present_folder
        if table is None:
            return []
        other = self._other_owner(writer)
        if other is not None:
            if delete:
                raise PipelineError(other)
            return []  # a reset of this pipeline leaves the table of another one alone
        if not delete:
            raise InvalidArgument(
                f"its table in {table} already has the first batches, and would skip their rows "
                "when they come again. Delete the table too, with --tables, or move it away first"
            )
        self.table.check_idle()
        return [table]

    def _objects_to_delete(
        self, objects: ObjectTable, writer: Writer, *, delete: bool
    ) -> list[Path]:
        owner = objects.owner
        if owner is None:
            return []
        if not (owner.is_former(writer) or owner.is_same(writer.query_id, writer)):
            if delete:
                raise PipelineError(f"{self._shown} belongs to {owner.describe()}: reset that one")
            return []
        if not delete:
            raise InvalidArgument(
                f"{self._shown} already has the first batches, and would skip their rows when they "
                "come again. Delete them too, with --tables, or choose another path"
            )
        return [Path(self._shown)]

    def delete_output(self) -> None:
        if self._objects is not None:
            self._objects.delete()
        else:
            self.table.delete()

    @property
    def _objects(self) -> ObjectTable | None:
        """The files, if they are in an object store."""
        if not is_object_url(self.path):
            return None
        return ObjectTable(ObjectStore(self.path), FileKind(self.format))

    @property
    def table(self) -> ParquetTable:
        """The files, if they are on this machine."""
        return ParquetTable(self._folder, FileKind(self.format))

    @property
    def _folder(self) -> Path:
        return Path(self.path.removeprefix("file://"))

    def _other_owner(self, writer: Writer) -> str | None:
        """An error that names the owner and the fix, if the table is not this pipeline's."""
        owner = self.table.owner
        if owner is None or owner.is_former(writer) or owner.is_same(writer.query_id, writer):
            return None
        assert owner.writer is not None
        return (
            f"the table in {self._folder} belongs to another one, {owner.describe()}"
            f"{', and it is running' if owner.writer.is_running else ''}. Reset it there "
            f"(--checkpoints {owner.writer.folder}), or give this one a different path; if the "
            "table is no longer needed, delete its folder yourself"
        )


def to_parquet(
    path: str, *, partition_by: str | Sequence[str] = (), compact: int = 0, **options: Any
) -> ParquetSink:
    """Write every row to a table of Parquet files, exactly once for readers of the folder.

    `partition_by` names columns, or new ones with an expression, as in `"day=date(at)"`. With
    `compact=20`, twenty small files of a partition are replaced by one while the pipeline runs.
    `options` are Spark's options for Parquet.
    """
    columns = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    return ParquetSink(path, columns, compact, file_options(to_parquet, options))


def _named(column: str) -> tuple[str, str | None]:
    """A column's name, and its expression if it has one."""
    name, separator, expression = column.partition("=")
    return name.strip(), expression.strip() if separator else None
