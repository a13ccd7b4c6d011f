"""Rows in a temporary view."""

from dataclasses import dataclass
from typing import ClassVar, Self

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink


@dataclass(frozen=True)
class MemorySink(Sink):
    """A temporary view that has the name of the pipeline. See `to_memory`."""

    recovers: ClassVar[bool] = False

    def describe(self) -> str:
        return "memory"

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        return rows.writeStream.format("memory")

    def as_version(self, version: str) -> Self:
        del version
        return self


def to_memory() -> MemorySink:
    """Keep all rows in a view with the pipeline's name; every run starts from the beginning."""
    return MemorySink()
