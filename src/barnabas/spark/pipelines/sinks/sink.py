"""What a sink is: the end of a pipeline that takes its rows."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, Self, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.pipeline_end import PipelineEnd
from barnabas.spark.pipelines.writer import Writer

OutputMode: TypeAlias = Literal["append", "update", "complete"]
OUTPUT_MODES: tuple[OutputMode, ...] = ("append", "update", "complete")


class Sink(PipelineEnd):
    """Takes the rows of a pipeline. Subclasses define `describe` and `writer`, the rest as needed.

    A sink is a frozen dataclass, created by a function `to_...` that checks its arguments. SQL
    calls that function under its name in `sql_file.SINKS`.
    """

    recovers: ClassVar[bool] = True
    """Whether it continues from a checkpoint; otherwise every run starts from the beginning."""

    writes_traces: ClassVar[bool] = False
    """Whether it writes the rows' trace headers (`traces.trace_column`)."""

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        """The output modes that it supports."""
        return OUTPUT_MODES

    # -- writing ----------------------------------------------------------------------------------

    @abstractmethod
    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        """A writer for the rows, which the run gives a trigger, a name and a checkpoint.

        It is `rows.writeStream.format(...)`, or `rows.writeStream.foreachBatch(...)` with a
        function that writes a batch, and has no further effect if the batch is repeated.
        """

    def check(self, writer: Writer, spark: SparkSession | None = None) -> None:
        """Raise `InvalidArgument` if this pipeline may not write to the existing output.

        It is called without Spark before Spark starts, and with it before the query starts.
        """

    def close(self, pipeline: str) -> None:
        """Release what `writer` holds in this process: the pipeline of that name was stopped."""
        del pipeline

    # -- dead letters ------------------------------------------------------------------------------

    @property
    def producer_options(self) -> Mapping[str, str]:
        """Options named `kafka.*`; dead letters use the same compression."""
        return {}

    # -- versions, reset, compaction --------------------------------------------------------------

    def as_version(self, version: str) -> Self:
        """The sink of another version of the pipeline, which writes to a different place."""
        del version
        raise InvalidArgument(
            f"{self.describe()} has no separate place for a version: define the new version as a "
            "pipeline with another name"
        )

    def output_to_delete(self, writer: Writer, *, delete: bool) -> list[Path]:
        """The output that a reset has to delete, because a pipeline can't write it twice.

        `delete` is whether the user has agreed. Raises if that is required, or if the output is in
        use. Output that a pipeline can write again, such as records of a topic, is not named here.
        """
        del writer, delete
        return []

    def delete_output(self) -> None:
        """Delete what `output_to_delete` names."""

    @property
    def parquet_folder(self) -> Path | None:
        """The Parquet files on this machine that `barnabas pipeline compact` compacts."""
        return None
