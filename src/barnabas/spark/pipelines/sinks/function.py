"""A function of the user that processes the rows."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink


@dataclass(frozen=True)
class FunctionSink(Sink):
    """A function that is called with every micro-batch. See `for_each_batch`."""

    function: Callable[[DataFrame, int], None]

    def describe(self) -> str:
        return f"{getattr(self.function, '__name__', 'function')}()"

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        return rows.writeStream.foreachBatch(self.function)


def for_each_batch(function: Callable[[DataFrame, int], None]) -> FunctionSink:
    """Call a function with the rows and the id of each micro-batch.

    After a failure it may be called again with the same id and the same rows.
    """
    return FunctionSink(function)
