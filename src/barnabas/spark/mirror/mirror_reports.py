"""Reports of a mirror that is a connector: its upkeep hears them, and problems are logged."""

import logging

from pyspark.sql import SparkSession

from barnabas.errors import InvalidArgument
from barnabas.mirror.configured_flow import ConfiguredFlow
from barnabas.mirror.groups.mirror_upkeep import MirrorUpkeep
from barnabas.mirror.round_report import RoundReport
from barnabas.spark.mirror.mirror_query import open_channel
from barnabas.spark.mirror.report_channel import ReportChannel

_log = logging.getLogger("barnabas.mirror")
_CLOSE_S = 10.0


class MirrorReports:
    """Where reports go while the pipeline runs; the upkeep lasts when the query is restarted."""

    def __init__(self, mirrored: ConfiguredFlow) -> None:
        self._mirrored = mirrored
        self._upkeep: MirrorUpkeep | None = None
        self._channels: list[ReportChannel] = []
        self._told: set[str] = set()

    def open(self, spark: SparkSession) -> ReportChannel:
        """For a new query. Raises `InvalidArgument` once the flow was stopped."""
        flow = self._mirrored.flow
        if self._upkeep is None:
            self._upkeep = MirrorUpkeep(flow, self._mirrored.groups)
            self._upkeep.start()
        if self._upkeep.is_stopped:
            raise InvalidArgument(
                f"flow {flow.name} was stopped from outside, as `barnabas mirror failover` does; "
                "restart the connector to start it again"
            )
        self._channels.append(open_channel(spark, [self, self._upkeep]))
        return self._channels[-1]

    def on_report(self, report: RoundReport) -> None:
        """Log problems, each one once."""
        for problem in report.problems:
            if problem not in self._told:
                _log.warning("%s", problem)
        self._told = set(report.problems)

    def check(self) -> None:
        """Raise if the flow was stopped."""
        for each in self._channels:
            each.check()

    def close(self) -> None:
        for each in self._channels:
            each.close()
        self._channels.clear()
        if self._upkeep is not None:
            self._upkeep.close(_CLOSE_S)
            self._upkeep = None
