"""The source of a mirror's query: it plans rounds, and its tasks copy.

A position of the query is the number of a round: `{"round": 7}`. It does not say what was copied:
that is in the target. A round that Spark repeats copies what is left.

    latest   looks at topics, in the process where Spark plans
    split    shares the partitions among as many tasks as run at once
    read     copies, in a task, and reports to the driver; it has no rows

While tasks copy, the process that plans looks at topics now and then, and ends the round if they
have changed.
"""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from time import monotonic

from barnabas.client.connect.broker_connection import DEFAULT_REQUEST_TIMEOUT_MS
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.mirror.access_sync import AccessSync
from barnabas.mirror.copy_round import CopyRound
from barnabas.mirror.fan_in_check import check_fan_in
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.loop_check import check_loops
from barnabas.mirror.partition_copy import CopiedPartition
from barnabas.mirror.positions import abort_open_transactions
from barnabas.mirror.topic_plan import TopicPlan
from barnabas.mirror.topic_sync import sync_topics
from barnabas.spark.cluster.connection import ClusterConnection, connect
from barnabas.spark.cluster.kafka_settings import ConnectionOptions
from barnabas.spark.connector.connector import Connector, Position, ReadRows
from barnabas.spark.mirror.report_channel import ReportAddress, TaskReports, report_plan

COMMIT_POSITIONS_S = 3600.0
"""How often positions of idle partitions are committed: committed offsets expire."""

SCHEMA = "round BIGINT"
"""Of rows, of which there are none."""

_log = logging.getLogger("barnabas.mirror")


class MirrorConnector(Connector):
    """A flow, as something that Spark reads."""

    def __init__(self, flow: Flow, tasks: int, driver: ReportAddress) -> None:
        """`tasks`: how many run at once. With more of them than that, some would wait."""
        self.flow = flow
        self.tasks = tasks
        self._driver = driver
        self._plan: TopicPlan | None = None
        self._planned_at = 0.0
        self._committed_at: float | None = None
        self._counts: dict[str, int] = {}
        self._known: set[str] | None = None
        self._access = AccessSync(flow)
        self._watch: Future[None] | None = None
        self._failure: BarnabasError | None = None

    def describe(self) -> str:
        return f"mirror {self.flow.name}"

    def schema(self) -> str:
        return SCHEMA

    def initial(self) -> Position:
        return {"round": 0}

    def latest(self, start: Position) -> Position:
        """The next round; `start` if there is nothing to copy."""
        if self._watch is not None:
            self._watch.cancel()
        if self._failure is not None:
            raise self._failure
        if self._plan is None or monotonic() - self._planned_at > self.flow.refresh_s:
            _connection(self.flow.source).ask(self._refresh)
            self._report(int(start["round"]) + 1)
        if not self._plan or not self._plan.flowing:
            return start
        return {"round": int(start["round"]) + 1}

    def split(self, start: Position, end: Position) -> Sequence[tuple[Position, Position]]:
        """Partitions in turn for each task; the end of a part says what to copy."""
        source = _connection(self.flow.source)
        if self._plan is None:
            source.ask(self._refresh)
        assert self._plan is not None
        now = monotonic()
        commits = self._committed_at is None or now - self._committed_at > COMMIT_POSITIONS_S
        if commits:
            self._committed_at = now
        if self._known is None:
            self._known = set() if self.flow.start == "earliest" else set(self._plan.flowing)
        partitions = [
            CopiedPartition(
                TopicPartition(here, index),
                TopicPartition(there, index),
                self.flow.start if here in self._known else "earliest",
                commits,
            )
            for here, there in sorted(self._plan.flowing.items())
            for index in range(self._counts[here])
        ]
        parts = [partitions[n :: self.tasks] for n in range(min(self.tasks, len(partitions)))]
        number = int(end["round"])
        self._watch = source.begin_asking(lambda cluster: self._watch_topics(cluster, number))
        return [
            (start, {**end, "partitions": part, "task": task, "tasks": len(parts)})
            for task, part in enumerate(parts)
        ]

    def read(self, start: Position, end: Position) -> ReadRows:
        """Copy for a round. It has effects, and may be repeated: what is copied stays so."""
        del start
        flow, target = self.flow, _connection(self.flow.target)
        rate = flow.max_bytes_per_second
        share = None if rate is None else rate / end["tasks"]
        partitions = [
            CopiedPartition(TopicPartition(*here), TopicPartition(*there), first, commits)
            for here, there, first, commits in end["partitions"]
        ]

        async def copy(cluster: ClusterClient) -> None:
            if not target.cluster.brokers:
                await target.cluster.refresh([])
            reports = TaskReports(self._driver, int(end["round"]), end["task"], end["tasks"])
            async with reports:
                work = CopyRound(cluster, target.cluster, flow, partitions, share)
                await reports.send(await work.run(flow.round_s, reports.send), ends=True)

        _connection(flow.source).ask(copy)
        return ()

    def close(self) -> None:
        """Roll back what a task may have left open, so that readers of the target need not wait."""
        flow = self.flow
        try:
            _connection(flow.target).ask(lambda cluster: abort_open_transactions(cluster, flow))
        except BarnabasError as error:
            _log.warning(
                "flow %s: open transactions stay until they time out: %s", flow.name, error
            )

    # -- topics ------------------------------------------------------------------------------------

    async def _watch_topics(self, source: ClusterClient, number: int) -> None:
        """Look at topics while a round lasts, and end it if others flow now."""
        before = self._shape
        while self._shape == before and self._failure is None:
            await asyncio.sleep(self.flow.refresh_s)
            try:
                await self._refresh(source)
            except BarnabasError as error:
                self._failure = error
            is_other = self._shape != before or self._failure is not None
            await asyncio.to_thread(self._report, number, ends=is_other)

    def _report(self, number: int, *, ends: bool = False) -> None:
        problems = [] if self._plan is None else self._plan.problems
        report_plan(self._driver, number, problems, ends=ends)

    @property
    def _shape(self) -> tuple[dict[str, str], dict[str, int]]:
        """What tasks depend on: names and numbers of partitions."""
        return ({} if self._plan is None else self._plan.flowing), self._counts

    async def _refresh(self, source: ClusterClient) -> None:
        """Look at topics; a cluster that is away is asked again later."""
        self._planned_at = monotonic()
        target = _connection(self.flow.target)
        try:
            if not target.cluster.brokers:
                await target.cluster.refresh([])
            before = {} if self._plan is None else self._plan.flowing
            if self._plan is None:
                await check_loops(source, target.cluster, self.flow)
            await check_fan_in(source, target.cluster, self.flow)
            found = await sync_topics(source, target.cluster, self.flow, before)
            found.problems += await self._access.sync(source, target.cluster, found.flowing)
        except BarnabasError as error:
            if self._plan is None or not error.retriable:
                raise
            self._plan.problems = [f"flow {self.flow.name}: topics can't be compared: {error}"]
            return
        counts = {}
        for name in found.flowing:
            topic = source.known_topic(name)
            counts[name] = 0 if topic is None else len(topic.partitions)
        self._plan, self._counts = found, counts


def _connection(end: ClusterEnd) -> ClusterConnection:
    """The connection of this process."""
    return connect(
        ConnectionOptions(
            end.bootstrap_servers,
            "barnabas-mirror",
            DEFAULT_REQUEST_TIMEOUT_MS,
            security=end.security_settings,
        )
    )
