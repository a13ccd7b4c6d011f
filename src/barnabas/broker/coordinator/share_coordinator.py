"""The share coordinator, for the partitions of `__share_group_state` that this node leads."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection

from barnabas.broker.coordinator.coordinator import Coordinator
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.coordinator.share_coordinator_shard import Prune, ShareCoordinatorShard
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.image import SHARE_GROUP_STATE, MetadataImage
from barnabas.share.state import ShareStateShard


class ShareCoordinator(Coordinator[ShareCoordinatorShard]):
    def __init__(
        self,
        loop: AbstractEventLoop,
        config: BrokerConfig,
        clock: Clock,
        image: Callable[[], MetadataImage],
        is_cut_off: Callable[[], bool],
        prune: Prune,
    ) -> None:
        """`prune` deletes the records of a partition before an offset."""
        super().__init__(SHARE_GROUP_STATE, loop, image, is_cut_off)
        self._clock = clock
        self._prune = prune
        self._updates_per_snapshot = config.shares.updates_per_snapshot
        self._commit_timeout_ms = config.shares.write_timeout_ms

    def _new_shard(self, partition: LeaderPartition) -> ShareCoordinatorShard:
        return ShareCoordinatorShard(
            partition,
            ShareStateShard(self._updates_per_snapshot, self._exists),
            self._loop,
            self._clock,
            self._commit_timeout_ms,
            self._prune,
        )

    def _exists(self, topic_id: bytes, partition: int) -> bool:
        topic = self._image().topics_by_id.get(topic_id)
        return topic is not None and 0 <= partition < len(topic.partitions)

    def topics_deleted(self, topic_ids: Collection[bytes]) -> None:
        for shard in self.shards:
            shard.topics_deleted(topic_ids)
