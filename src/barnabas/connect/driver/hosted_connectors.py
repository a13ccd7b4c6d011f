"""The connectors that run in a driver, each with one or several pipelines."""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from barnabas.backoff import Backoff
from barnabas.connect.rights import connector_denial, connector_rights, signs_in_itself
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines.connectors.pipeline_files import created_topics, pipelines_of
from barnabas.spark.pipelines.definition.loader import send_modules_by_value
from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.operations.reset import reset_pipelines, what_is_there
from barnabas.spark.pipelines.run.metrics import exposition
from barnabas.spark.pipelines.run.pipeline_run import PipelineRun, SparkGone
from barnabas.spark.pipelines.run.progress_reports import ProgressReports
from barnabas.spark.pipelines.run.run_folder import RunFolder
from barnabas.spark.pipelines.run.supervised_query import SupervisedQuery
from barnabas.sync.admin import Admin

Offsets: TypeAlias = Mapping[str, Mapping[str, int]]

_log = logging.getLogger("barnabas.connect")
_PAUSES_S = Backoff(1.0, 60.0)
_SETTLED_AFTER_S = 10.0
_OWN_CLASSES = {"connector", "source.connector", "sink.connector"}
"""Settings that name a class of the user's (`from_connector`, `to_connector`)."""
_STATES = {
    "new": "UNASSIGNED",
    "running": "RUNNING",
    "waiting": "RESTARTING",
    "done": "STOPPED",
    "stopped": "STOPPED",
    "failed": "FAILED",
}


@dataclass
class Hosted:
    """A connector in this driver."""

    name: str
    config: Mapping[str, str]
    start: Offsets | None
    generation: str
    pipelines: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    failures: int = 0
    error: str | None = None
    next_start: float | None = 0.0
    """When to start it; None if it runs or has failed for good."""


class HostedConnectors:
    """Starts and stops connectors, and says how they are."""

    def __init__(
        self,
        spark: SparkSession,
        cluster: ClusterAddress,
        folder: RunFolder,
        files: Path,
        restarts: int,
        *,
        reports: bool = True,
    ) -> None:
        self._spark = spark
        self._cluster = cluster
        self._folder = folder
        self._files = files
        self._restarts = restarts
        self._reports = ProgressReports(cluster) if reports else None
        self._run = PipelineRun(
            spark,
            [],
            cluster.bootstrap_servers,
            folder,
            security=cluster.security,
            report=self._publish if reports else None,
        )
        self._hosted: dict[str, Hosted] = {}
        self._owners: dict[str, str] = {}
        """Which connector a pipeline is of, also of one that was stopped."""
        self._restarted: dict[str, tuple[int, float]] = {}
        """How often queries were restarted, and when they last were."""

    def __len__(self) -> int:
        return len(self._hosted)

    def start(
        self, name: str, config: Mapping[str, str], start: Offsets | None, generation: str
    ) -> None:
        """Start it, instead of the one of that name if there is one."""
        self.stop(name)
        self._hosted[name] = Hosted(name, config, start, generation)

    def stop(self, name: str) -> None:
        hosted = self._hosted.pop(name, None)
        if hosted is not None:
            self._end(hosted)

    def stop_all(self) -> None:
        self._hosted.clear()
        self._run.stop()
        for query in list(self._run.queries):
            self._run.remove(query.name)

    def close(self) -> None:
        """Send the last reports, also if Spark is gone."""
        if self._reports is not None:
            self._reports.close()

    def _publish(self, statuses: list[dict[str, Any]]) -> None:
        """Report pipelines with the connectors that they belong to."""
        assert self._reports is not None
        self._reports.publish(
            [{**each, "connector": self._owners[each["pipeline"]]} for each in statuses]
        )

    def check_reset(
        self, config: Mapping[str, str], start: Offsets | None, changed: Iterable[str] = ()
    ) -> list[Pipeline]:
        """The pipelines that a reset concerns; raises `BarnabasError` if they can't be reset.

        `changed` are topics that they have to read.
        """
        pipelines = self._pipelines(config, start)
        for topic in changed:
            if not any(each.reads(topic) for one in pipelines for each in one.sources.values()):
                raise InvalidArgument(f"topic {topic} is not read by this connector")
        for each in pipelines:
            self._folder.check_can_reset(each.name)
        what_is_there(self._folder, pipelines, tables=False)
        return pipelines

    def reset(self, config: Mapping[str, str], start: Offsets | None) -> None:
        """Let it start over when it is started next; raises `BarnabasError`."""
        reset_pipelines(self._folder, self.check_reset(config, start), tables=False)

    def poll(self) -> None:
        """Start one that is due, and look after what runs. Raises `SparkGone`."""
        due = self.next_due()
        if due is not None:
            self._start(self._hosted[due])
        self._run.poll()

    def next_due(self) -> str | None:
        """The connector that is started next, if it is time."""
        now = time.time()
        for name, each in self._hosted.items():
            if each.next_start is not None and now >= each.next_start:
                return name
        return None

    def metrics(self, now: float) -> str:
        """Those of all pipelines that run here, in the text format of Prometheus."""
        queries = self._run.queries
        return exposition([(each.status(now), each.progress.durations) for each in queries], now)

    def statuses(self) -> dict[str, dict[str, Any]]:
        """How all are, by name."""
        queries = {each.name: each for each in self._run.queries}
        return {name: self._status(each, queries) for name, each in self._hosted.items()}

    def _status(self, hosted: Hosted, queries: Mapping[str, SupervisedQuery]) -> dict[str, Any]:
        tasks = []
        for name in hosted.pipelines:
            query = queries[name]
            state = "RESTARTING" if self._may_fail_again(query) else _STATES[query.state]
            trace = query.error if state in ("RESTARTING", "FAILED") else None
            tasks.append({"state": state, "trace": trace})
        state = "UNASSIGNED" if hosted.error is None else "RESTARTING"
        if tasks or hosted.next_start is None:
            state = "RUNNING" if tasks else "FAILED"
        return {
            "generation": hosted.generation,
            "state": state,
            "trace": None if tasks else hosted.error,
            "tasks": tasks,
            "topics": hosted.topics,
        }

    def _may_fail_again(self, query: SupervisedQuery) -> bool:
        """Whether it was restarted just now and has finished no batch since."""
        if query.state != "running" or not query.failures_in_a_row:
            self._restarted.pop(query.name, None)
            return False
        now = time.time()
        restarts, since = self._restarted.get(query.name, (-1, now))
        if restarts != query.restarts:
            since = now
        self._restarted[query.name] = (query.restarts, since)
        return now - since < _SETTLED_AFTER_S

    def _start(self, hosted: Hosted) -> None:
        try:
            self._start_pipelines(hosted)
        except SparkGone:
            raise
        except Exception as error:  # noqa: BLE001 - definitions are others' code: any may come
            self._end(hosted)
            hosted.error = _reason(error)
            hosted.failures += 1
            limit = int(hosted.config.get("restarts.max", self._restarts))
            is_final = isinstance(error, InvalidArgument | PipelineError)
            is_final = is_final and not isinstance(error, StillRunning)
            again = not is_final and hosted.failures <= limit
            pause_s = _PAUSES_S.pause(hosted.failures)
            hosted.next_start = time.time() + pause_s if again else None
            _log.warning("connector %s: %s", hosted.name, hosted.error)
        else:
            hosted.error, hosted.failures, hosted.next_start = None, 0, None

    def _pipelines(self, config: Mapping[str, str], start: Offsets | None) -> list[Pipeline]:
        found = pipelines_of(config, self._files, lambda: self._spark)
        return found if start is None else [_starting_at(each, start) for each in found]

    def _start_pipelines(self, hosted: Hosted) -> None:
        pipelines = self._pipelines(hosted.config, hosted.start)
        if _OWN_CLASSES & hosted.config.keys():
            send_modules_by_value(self._files)  # workers can't import them
        hosted.topics = _topics(pipelines)
        self._check_rights(hosted, pipelines)
        self._make_topics(hosted.config, pipelines)
        limit = int(hosted.config.get("restarts.max", self._restarts))
        for each in pipelines:
            if self._folder.is_running(each.name):
                raise StillRunning(f"pipeline {each.name} still runs in another process")
            self._owners[each.name] = hosted.name
            self._run.start_another(each, limit)
            hosted.pipelines.append(each.name)

    def _end(self, hosted: Hosted) -> None:
        for name in hosted.pipelines:
            self._run.remove(name)
        hosted.pipelines = []

    def _check_rights(self, hosted: Hosted, pipelines: list[Pipeline]) -> None:
        """What is denied now would stop it at its first batch."""
        if not self._cluster.security or signs_in_itself(hosted.config):
            return
        rights = connector_rights(hosted.config, pipelines, self._files)
        denied = asyncio.run(connector_denial(self._cluster, rights, hosted.name))
        if denied is not None:
            raise denied

    def _make_topics(self, config: Mapping[str, str], pipelines: list[Pipeline]) -> None:
        """Create the topics that it writes, as far as they are known."""
        if config.get("topic.creation.enable", "true").lower() != "true":
            return
        wanted = {topic for each in pipelines for topic in each.written_topics}
        wanted |= {*created_topics(config, self._files)}
        if not wanted:
            return
        partitions = int(config.get("topic.creation.default.partitions", "-1"))
        replicas = int(config.get("topic.creation.default.replication.factor", "-1"))
        with Admin(self._cluster.bootstrap_servers, security=self._cluster.security) as admin:
            for topic in sorted(wanted):
                admin.create_topic(
                    topic,
                    partitions=partitions if partitions > 0 else None,
                    replication_factor=replicas if replicas > 0 else None,
                    exist_ok=True,
                )


class StillRunning(BarnabasError):  # noqa: N818 - its name says what is wrong
    """A process that should be gone has not ended yet."""


def _starting_at(pipeline: Pipeline, start: Offsets) -> Pipeline:
    sources = {
        name: each.starting_at(start) if each.is_stream else each
        for name, each in pipeline.sources.items()
    }
    return replace(pipeline, sources=sources)


def _topics(pipelines: list[Pipeline]) -> list[str]:
    """The topics that it reads and writes."""
    found = {
        topic
        for each in pipelines
        for end in (*each.sources.values(), each.sink)
        for topic in end.topics
    }
    return sorted(found)


def _reason(error: Exception) -> str:
    if isinstance(error, PySparkException | Py4JError):
        return str(reason_of(error))
    return str(error) if isinstance(error, BarnabasError) else f"{type(error).__name__}: {error}"
