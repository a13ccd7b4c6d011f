"""A flow between clusters as a source: its tasks copy, and its rows say what was copied."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from barnabas.mirror.flow import Flow
from barnabas.mirror.round_report import SCHEMA
from barnabas.spark.connector.data_source import stream_of
from barnabas.spark.mirror.mirror_connector import MirrorConnector
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.sources.source import Source


@dataclass(frozen=True)
class MirrorSource(Source):
    """Rounds of a flow, copied by so many tasks at once."""

    flow: Flow
    tasks: int = 1

    def describe(self) -> str:
        return f"mirror {self.flow.name}"

    def load(self, environment: Environment) -> DataFrame:
        fields = StructType.fromDDL(SCHEMA)
        assert isinstance(fields, StructType)
        # With more tasks than run at once, some would wait until a round is over.
        most = environment.spark.sparkContext.defaultParallelism
        connector = MirrorConnector(self.flow, max(1, min(self.tasks, most)))
        return stream_of(environment.spark, connector, fields)
