"""The source of a mirror's query: it plans rounds, and its tasks copy.

A position of the query is the number of a round: `{"round": 7}`. It does not say what was copied:
that is in the target. A round that Spark repeats copies what is left.

    latest   looks at topics now and then, in the process where Spark plans
    split    shares the partitions among as many tasks as run at once
    read     copies, in a task, and returns the report
"""

import logging
from collections.abc import Iterator, Sequence
from functools import partial
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
from barnabas.mirror.round_report import PROBLEM, SCHEMA, ReportRow
from barnabas.mirror.topic_plan import TopicPlan
from barnabas.mirror.topic_sync import sync_topics
from barnabas.spark.cluster.connection import ClusterConnection, connect
from barnabas.spark.cluster.kafka_settings import ConnectionOptions
from barnabas.spark.connector.connector import Connector, Position, ReadRows
from barnabas.spark.mirror.lingering_round import LINGERING, RoundKey

COMMIT_POSITIONS_S = 3600.0
"""How often positions of idle partitions are committed: committed offsets expire."""

_log = logging.getLogger("barnabas.mirror")


class MirrorConnector(Connector):
    """A flow, as something that Spark reads: rows are what was copied (`round_report`)."""

    def __init__(self, flow: Flow, tasks: int) -> None:
        """`tasks`: how many run at once. With more of them than that, some would wait."""
        self.flow = flow
        self.tasks = tasks
        self._plan: TopicPlan | None = None
        self._planned_at = 0.0
        self._committed_at: float | None = None
        self._counts: dict[str, int] = {}
        self._known: set[str] | None = None
        self._is_bounded = False
        self._access = AccessSync(flow)

    def describe(self) -> str:
        return f"mirror {self.flow.name}"

    def schema(self) -> str:
        return SCHEMA

    def initial(self) -> Position:
        return {"round": 0}

    def bound(self, start: Position) -> None:
        del start
        self._is_bounded = True

    def latest(self, start: Position) -> Position:
        """The next round; `start` if there is nothing to copy."""
        if self._plan is None or monotonic() - self._planned_at > self.flow.refresh_s:
            self._refresh()
        if not self._plan or not self._plan.flowing:
            return start
        return {"round": int(start["round"]) + 1}

    def split(self, start: Position, end: Position) -> Sequence[tuple[Position, Position]]:
        """Partitions in turn for each task; the end of a part says what to copy."""
        if self._plan is None:
            self._refresh()
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
        problems, self._plan.problems = self._plan.problems, []
        return [
            (
                start,
                {
                    **end,
                    "partitions": part,
                    "share": len(parts),
                    "task": number,
                    "problems": problems if number == 0 else [],
                },
            )
            for number, part in enumerate(parts)
        ]

    def read(self, start: Position, end: Position) -> ReadRows:
        """Copy for a round. It has effects, and may be repeated: what is copied stays so."""
        del start
        source, target = _connection(self.flow.source), _connection(self.flow.target)
        rate = self.flow.max_bytes_per_second
        share = None if rate is None else rate / end["share"]
        partitions = [
            CopiedPartition(TopicPartition(*here), TopicPartition(*there), first, commits)
            for here, there, first, commits in end["partitions"]
        ]

        async def copy(cluster: ClusterClient) -> list[ReportRow]:
            if not target.cluster.brokers:
                await target.cluster.refresh([])
            begin = partial(CopyRound, cluster, target.cluster, self.flow, partitions, share)
            if not self.flow.linger_s:
                return await begin().run(self.flow.round_s)
            wanted = RoundKey(self.flow, tuple(partitions), share)
            return await LINGERING.run(wanted, int(end["round"]), begin, task=int(end["task"]))

        yield from _told(end["problems"])
        yield from source.ask(copy)

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

    def _refresh(self) -> None:
        """Look at topics; a cluster that is away is asked again later."""
        self._planned_at = monotonic()
        target = _connection(self.flow.target)

        async def plan(source: ClusterClient) -> None:
            if not target.cluster.brokers:
                await target.cluster.refresh([])
            before = {} if self._plan is None else self._plan.flowing
            told: list[str] = [] if self._plan is None else self._plan.problems
            if self._plan is None:
                await check_loops(source, target.cluster, self.flow)
            await check_fan_in(source, target.cluster, self.flow)
            found = await sync_topics(source, target.cluster, self.flow, before)
            found.problems = [*told, *found.problems]
            found.problems += await self._access.sync(source, target.cluster, found.flowing)
            counts = {}
            for name in found.flowing:
                topic = source.known_topic(name)
                counts[name] = 0 if topic is None else len(topic.partitions)
            self._plan, self._counts = found, counts

        try:
            _connection(self.flow.source).ask(plan)
        except BarnabasError as error:
            if self._plan is None or not error.retriable:
                raise
            self._plan.problems.append(f"flow {self.flow.name}: topics can't be compared: {error}")


def _told(problems: Sequence[str]) -> Iterator[ReportRow]:
    return (ReportRow(PROBLEM, message=each) for each in problems)


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
