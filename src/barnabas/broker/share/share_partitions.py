"""The share partitions that are led here, by group and partition.

One is loaded when a consumer of the group fetches the partition for the first time. It ends when
another node leads the partition, and when the last consumer of its group is gone from this node:
then it is not needed, and an operator may change its start offset.
"""

from asyncio import AbstractEventLoop, Task

from barnabas.broker.replica.partition import Partition
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.share.led_share_partition import CatchUp, LedSharePartition
from barnabas.broker.share.share_settings import ShareSettingsReader
from barnabas.broker.share.state_calls import StateCalls
from barnabas.share.state import SharePartitionKey
from barnabas.wire.errors import ErrorCode

_MAX_LOADING = 2_000
"""Share partitions that are loaded at a time; each asks a share coordinator."""


class SharePartitions:
    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        calls: StateCalls,
        settings: ShareSettingsReader,
        has_caught_up: CatchUp,
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._calls = calls
        self.settings = settings
        self._has_caught_up = has_caught_up
        self._loading: set[Task[None]] = set()
        self._by_group: dict[str, dict[tuple[bytes, int], LedSharePartition]] = {}

    def get(self, group_id: str, topic_id: bytes, index: int) -> LedSharePartition | None:
        """If a consumer of the group has fetched it already."""
        return self._by_group.get(group_id, {}).get((topic_id, index))

    def find(self, group_id: str, partition: Partition) -> LedSharePartition | ErrorCode:
        """The share partition, which may have to be loaded."""
        place = (partition.topic_id, partition.index)
        found = self._by_group.get(group_id, {}).get(place)
        if found is not None:
            if found.partition is partition and found.leader_epoch == partition.leader_epoch:
                found.is_leaving = False
                return found
            found.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if len(self._loading) >= _MAX_LOADING:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        key = SharePartitionKey(group_id, partition.topic_id, partition.index)
        made = LedSharePartition(
            key,
            partition,
            self._loop,
            self._clock,
            self._calls,
            self.settings.of,
            self._has_caught_up,
            self._forget,
        )
        self._by_group.setdefault(group_id, {})[place] = made
        self._loading.add(made.loading)
        made.loading.add_done_callback(self._loading.discard)
        return made

    def _forget(self, ended: LedSharePartition) -> None:
        group_id, topic_id, index = ended.key
        of_group = self._by_group.get(group_id, {})
        if of_group.get((topic_id, index)) is ended:
            del of_group[topic_id, index]
            if not of_group:
                del self._by_group[group_id]

    def of_group(self, group_id: str) -> list[LedSharePartition]:
        return list(self._by_group.get(group_id, {}).values())

    def group_left(self, group_id: str) -> None:
        """The last consumer of the group is gone from this node."""
        for each in self.of_group(group_id):
            each.leave()

    def close(self) -> None:
        for of_group in list(self._by_group.values()):
            for each in list(of_group.values()):
                each.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
