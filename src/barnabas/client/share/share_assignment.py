"""Which leader has which of the assigned partitions.

The group's coordinator names topics by their ids, and leaders come from metadata. A partition whose
leader has failed, or is no longer the leader, waits until metadata names another one.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from barnabas.client.connect.broker_errors import broker_error
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.environment import RETRY
from barnabas.client.share.share_member import Assignment
from barnabas.client.share.share_session import SharePartition
from barnabas.errors import BarnabasError
from barnabas.wire.errors import ErrorCode

_CALM_S = 5.0
"""After so long without a search, the next one is made at once."""


class ShareAssignment:
    """Of one member. `on_change` is called when partitions have got leaders, or lost them."""

    def __init__(
        self, cluster: ClusterClient, topics: Sequence[str], on_change: Callable[[], None]
    ) -> None:
        self.leaders: dict[SharePartition, int] = {}
        """Of assigned partitions, and of those that were assigned while records are held."""
        self._cluster = cluster
        self._topics = list(topics)
        self._on_change = on_change
        self._assignment: Assignment = {}
        self._doubted: set[SharePartition] = set()
        self._assigned: set[SharePartition] = set()
        self._changed = asyncio.Event()
        self._searches = 0
        self._searched_at = -_CALM_S

    def assign(self, assignment: Assignment) -> None:
        """Take what the coordinator has said."""
        self._assignment = assignment
        self._changed.set()

    def partitions_of(self, node_id: int) -> set[SharePartition]:
        """The assigned partitions that this node leads."""
        return {each for each in self._assigned if self.leaders.get(each) == node_id}

    @property
    def nodes(self) -> set[int]:
        """The leaders of all assigned partitions."""
        return {self.leaders[each] for each in self._assigned if each in self.leaders}

    def doubt(self, partitions: Iterable[SharePartition]) -> None:
        """Their leader has failed: look for another one."""
        for partition in partitions:
            self.leaders.pop(partition, None)
            self._doubted.add(partition)
        self._changed.set()
        self._on_change()

    async def run(self) -> None:
        """Find leaders, whenever something has changed."""
        while True:
            self._changed.clear()
            if not self._doubted and self._place() is None:
                await self._changed.wait()
                continue
            await self._calm_down()
            await self._search()

    async def _calm_down(self) -> None:
        """A partition whose leader answers each fetch with an error is not asked all the time."""
        environment = self._cluster.environment
        if environment.monotonic() - self._searched_at < _CALM_S:
            self._searches += 1
            await asyncio.sleep(RETRY.pause(self._searches, environment.random))
        else:
            self._searches = 0
        self._searched_at = environment.monotonic()

    async def _search(self) -> None:
        """Ask for metadata until every partition has a leader."""
        started = self._cluster.environment.monotonic()
        for number in range(1_000_000):
            await self._cluster.refresh_leaders(self._topics)
            self._doubted.clear()
            missing = self._place()
            if missing is None:
                return
            failing_s = self._cluster.environment.monotonic() - started
            self._cluster.on_retry(missing, failing_s)
            await asyncio.sleep(RETRY.pause(number + 1, self._cluster.environment.random))

    def _place(self) -> BarnabasError | None:
        """Give partitions the leaders that are known; why one has none, if so."""
        missing: BarnabasError | None = None
        names = {
            topic.topic_id: topic.name
            for topic in map(self._cluster.known_topic, self._topics)
            if topic is not None
        }
        assigned: set[SharePartition] = set()
        for topic_id, partitions in self._assignment.items():
            if topic_id not in names:
                missing = broker_error(ErrorCode.UNKNOWN_TOPIC_ID, f"topic id {topic_id.hex()}")
                continue
            assigned |= {SharePartition(topic_id, names[topic_id], each) for each in partitions}
        self._assigned = assigned
        for partition in assigned - self.leaders.keys():
            try:
                self.leaders[partition] = self._cluster.known_leader(partition.name)
            except BarnabasError as error:
                missing = error
        self._on_change()
        return missing

    def lead(self, partition: SharePartition) -> int | None:
        """The leader of a partition that may not be assigned any more, by what is known."""
        found = self.leaders.get(partition)
        if found is None and partition not in self._doubted:
            try:
                return self._cluster.known_leader(partition.name)
            except BarnabasError:
                return None
        return found
