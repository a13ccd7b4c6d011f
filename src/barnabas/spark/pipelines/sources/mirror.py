"""A flow between clusters as a source: its tasks copy, and it has no rows."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from barnabas.mirror.flow import Flow
from barnabas.spark.mirror.mirror_query import mirror_rounds
from barnabas.spark.mirror.mirror_reports import MirrorReports
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.sources.source import Source


@dataclass(frozen=True)
class MirrorSource(Source):
    """Rounds of a flow, copied by so many tasks at once."""

    flow: Flow
    tasks: int
    reports: MirrorReports

    def describe(self) -> str:
        return f"mirror {self.flow.name}"

    def load(self, environment: Environment) -> DataFrame:
        # With more tasks than run at once, some would wait until a round is over.
        spark = environment.spark
        most = spark.sparkContext.defaultParallelism
        channel = self.reports.open(spark)
        return mirror_rounds(spark, self.flow, max(1, min(self.tasks, most)), channel)
