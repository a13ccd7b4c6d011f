"""Batches printed as tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.spark.pipelines.argument_names import only_options
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink


@dataclass(frozen=True)
class ConsoleSink(Sink):
    """The terminal. See `to_console`."""

    options: Mapping[str, str] = field(default_factory=dict)

    recovers: ClassVar[bool] = False

    def describe(self) -> str:
        return "console"

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        return rows.writeStream.format("console").options(**self.options)

    def as_version(self, version: str) -> Self:
        del version
        return self


def to_console(**options: Any) -> ConsoleSink:
    """Print every batch, for debugging; every run starts from the beginning."""
    return ConsoleSink(only_options(to_console, ("numRows", "truncate"), options))
