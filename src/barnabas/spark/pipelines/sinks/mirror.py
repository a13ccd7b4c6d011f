"""Ends rounds of a flow. Its upkeep (groups, heartbeats, checkpoints) hears of them directly."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.spark.mirror.mirror_reports import MirrorReports
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink


@dataclass(frozen=True)
class MirrorSink(Sink):
    """Ends rounds of a flow."""

    flow: str
    reports: MirrorReports

    def describe(self) -> str:
        return f"upkeep of {self.flow}"

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        return ("append",)

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode

        def end(batch: DataFrame, _number: int) -> None:
            batch.collect()
            self.reports.check()

        return rows.writeStream.foreachBatch(end)

    def close(self, pipeline: str) -> None:
        del pipeline
        self.reports.close()
