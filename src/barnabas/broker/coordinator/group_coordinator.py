"""The group coordinator: groups in the partitions of `__consumer_offsets` that this node leads."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection
from random import Random
from uuid import UUID

from barnabas.broker.coordinator.coordinator import Coordinator
from barnabas.broker.coordinator.group_coordinator_shard import GroupCoordinatorShard
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.groups import GroupConfig, GroupShard
from barnabas.groups.memory import GroupMemory
from barnabas.metadata.image import CONSUMER_OFFSETS, MetadataImage


class GroupCoordinator(Coordinator[GroupCoordinatorShard]):
    def __init__(
        self,
        loop: AbstractEventLoop,
        config: BrokerConfig,
        clock: Clock,
        random: Random,
        image: Callable[[], MetadataImage],
        is_cut_off: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(CONSUMER_OFFSETS, loop, image, is_cut_off)
        self._clock = clock
        self._random = random
        self._config = group_config(config)
        self._memory = GroupMemory(self._config.group_metadata_max_bytes)
        self._commit_timeout_ms = config.groups.commit_timeout_ms

    def _new_shard(self, partition: LeaderPartition) -> GroupCoordinatorShard:
        return GroupCoordinatorShard(
            partition,
            GroupShard(self._config, self._new_member_suffix, self._memory),
            self._loop,
            self._clock,
            self._commit_timeout_ms,
            lambda: self._image().topics,
        )

    def topics_deleted(self, names: Collection[str]) -> None:
        """Delete the offsets of deleted topics."""
        for shard in self.shards:
            shard.topics_deleted(names)

    def transaction_ended(
        self, partition: LeaderPartition, next_offset: int, producer_id: int, is_commit: bool
    ) -> None:
        """A marker was appended to a partition of any topic, before `next_offset`.

        When the marker is committed, the transaction's offsets become visible, or are dropped.
        """
        if partition.topic == CONSUMER_OFFSETS:
            shard = self._shards.get(partition.index)
            if shard is not None and shard.partition is partition:
                shard.transaction_ended(next_offset, producer_id, is_commit=is_commit)

    def _new_member_suffix(self) -> str:
        return str(UUID(bytes=self._random.randbytes(16), version=4))


def group_config(config: BrokerConfig) -> GroupConfig:
    """The broker's settings for groups."""
    return GroupConfig(
        group_min_session_timeout_ms=config.groups.min_session_timeout_ms,
        group_max_session_timeout_ms=config.groups.max_session_timeout_ms,
        group_initial_rebalance_delay_ms=config.groups.initial_rebalance_delay_ms,
        group_max_size=config.groups.max_size,
        group_metadata_max_bytes=config.groups.metadata_max_bytes,
        offset_metadata_max_bytes=config.groups.offset_metadata_max_bytes,
        offsets_retention_ms=config.groups.offsets_retention_minutes * 60_000,
    )
