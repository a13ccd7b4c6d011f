"""The topics of a flow, as one process of it sees them.

One of the processes, the driver, brings the target in line with the source. The others look which
topics are there by now, and do not change anything.
"""

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.mirror.access_sync import AccessSync
from barnabas.mirror.fan_in_check import check_fan_in
from barnabas.mirror.flow import Flow
from barnabas.mirror.loop_check import check_loops
from barnabas.mirror.names import remote_topic
from barnabas.mirror.partition_copy import CopiedPartition
from barnabas.mirror.topic_plan import flows
from barnabas.mirror.topic_sync import sync_topics


class FlowTopics:
    """Outlives connections."""

    def __init__(self, flow: Flow) -> None:
        self.flowing: dict[str, str] = {}
        """Names in the target by names in the source."""
        self.problems: list[str] = []
        self._flow = flow
        self._counts: dict[str, int] = {}
        self._access = AccessSync(flow)
        self._is_checked = False
        self._known: set[str] | None = None
        """Those that were there when this process began; None before that."""

    @property
    def shape(self) -> tuple[dict[str, str], dict[str, int]]:
        """What the shares of processes depend on: names, and numbers of partitions."""
        return self.flowing, self._counts

    @property
    def partitions(self) -> int:
        """How many there are, of all topics."""
        return sum(self._counts.values())

    async def look(self, source: ClusterClient, target: ClusterClient, *, drives: bool) -> None:
        """Look at both clusters, and change the target if this process drives the flow.

        A cluster that is down after the first time is a problem to be told, and asked again later.
        """
        try:
            await self._look(source, target, drives)
        except BarnabasError as error:
            if self._known is None or not error.retriable:
                raise
            self.problems = [f"flow {self._flow.name}: topics can't be compared: {error}"]

    async def _look(self, source: ClusterClient, target: ClusterClient, drives: bool) -> None:
        flow = self._flow
        if not self._is_checked:
            await check_loops(source, target, flow)
            self._is_checked = True
        await check_fan_in(source, target, flow)
        if drives:
            plan = await sync_topics(source, target, flow, self.flowing)
            problems = await self._access.sync(source, target, plan.flowing)
            self.flowing, self.problems = plan.flowing, [*plan.problems, *problems]
        else:
            here = [name for name in await source.refresh(None) if flows(flow, name)]
            there = await target.refresh([remote_topic(flow, name) for name in here])
            self.flowing = {
                name: copied
                for name in here
                if (copied := remote_topic(flow, name)) in there and not there[copied].error_code
            }
            self.problems = []
        self._counts = {}
        for name in self.flowing:
            topic = source.known_topic(name)
            self._counts[name] = 0 if topic is None else len(topic.partitions)
        if self._known is None:
            self._known = set(self.flowing)

    def copied(self, target: TopicPartition, *, commits_position: bool) -> CopiedPartition | None:
        """How a partition of the target is copied; None if it has no counterpart."""
        for here, there in self.flowing.items():
            if there == target.topic and target.partition < self._counts[here]:
                is_new = self._known is not None and here not in self._known
                return CopiedPartition(
                    TopicPartition(here, target.partition),
                    target,
                    "earliest" if is_new else self._flow.start,
                    commits_position,
                )
        return None
