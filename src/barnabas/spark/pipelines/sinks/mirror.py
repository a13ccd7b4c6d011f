"""What a flow does beside copying: groups, heartbeats and checkpoints, by the reports of rounds."""

import logging
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.errors import InvalidArgument
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.groups.mirror_upkeep import MirrorUpkeep
from barnabas.mirror.round_report import RoundReport, report_of
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.sinks.sink import OutputMode, Sink

_log = logging.getLogger("barnabas.mirror")
_CLOSE_S = 10.0


class _Running:
    """The upkeep while the pipeline runs; it lasts when the query is restarted."""

    def __init__(self) -> None:
        self._upkeep: MirrorUpkeep | None = None
        self._told: set[str] = set()

    def start(self, mirrored: ConfiguredFlow) -> MirrorUpkeep:
        """Start it, unless it runs. Raises `InvalidArgument` once the flow was stopped."""
        if self._upkeep is None:
            self._upkeep = MirrorUpkeep(mirrored.flow, mirrored.groups)
            self._upkeep.start()
        if self._upkeep.is_stopped:
            raise InvalidArgument(
                f"flow {mirrored.flow.name} was stopped from outside, as `barnabas mirror failover`"
                " does; restart the connector to start it again"
            )
        return self._upkeep

    def tell(self, report: RoundReport) -> None:
        """Log problems, each one once."""
        for problem in report.problems:
            if problem not in self._told:
                _log.warning("%s", problem)
        self._told = set(report.problems)

    def close(self) -> None:
        if self._upkeep is not None:
            self._upkeep.close(_CLOSE_S)
            self._upkeep = None


@dataclass(frozen=True)
class MirrorSink(Sink):
    """Takes what the rounds of a flow report."""

    mirrored: ConfiguredFlow
    _running: _Running = field(default_factory=_Running, compare=False, repr=False)

    def describe(self) -> str:
        return f"upkeep of {self.mirrored.flow.name}"

    @property
    def modes(self) -> tuple[OutputMode, ...]:
        return ("append",)

    def writer(
        self, environment: Environment, rows: DataFrame, output_mode: OutputMode
    ) -> DataStreamWriter:
        del environment, output_mode
        upkeep = self._running.start(self.mirrored)

        def report(batch: DataFrame, _number: int) -> None:
            made = report_of([tuple(each) for each in batch.collect()])
            self._running.tell(made)
            upkeep.on_round(made)

        return rows.writeStream.foreachBatch(report)

    def close(self, pipeline: str) -> None:
        del pipeline
        self._running.close()
