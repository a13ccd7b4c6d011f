"""The group coordinator: groups in the partitions of `__consumer_offsets` that this node leads."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from uuid import UUID

from barnabas.broker.coordinator.consumer_group_settings import consumer_member_settings
from barnabas.broker.coordinator.coordinator import Coordinator
from barnabas.broker.coordinator.group_coordinator_shard import GroupCoordinatorShard
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.coordinator.regex_resolution import RegexResolution
from barnabas.broker.coordinator.share_group_settings import share_member_settings
from barnabas.broker.coordinator.topics_view import TopicsView
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.groups import GroupConfig, GroupShard
from barnabas.groups.config import (
    ConsumerGroupConfig,
    MigrationPolicy,
    ShareGroupConfig,
)
from barnabas.groups.memory import GroupMemory
from barnabas.metadata.image import CONSUMER_OFFSETS, MetadataImage, TopicImage


class GroupCoordinator(Coordinator[GroupCoordinatorShard]):
    def __init__(
        self,
        loop: AbstractEventLoop,
        config: BrokerConfig,
        clock: Clock,
        random: Random,
        image: Callable[[], MetadataImage],
        is_cut_off: Callable[[], bool] = lambda: False,
        clock_lead_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        """`clock_lead_ms` is how far the clock is ahead of that of other nodes."""
        super().__init__(CONSUMER_OFFSETS, loop, image, is_cut_off)
        self._clock = clock
        self._random = random
        self._config = replace(group_config(config, image), clock_lead_ms=clock_lead_ms)
        self._memory = GroupMemory(self._config.group_metadata_max_bytes)
        self._commit_timeout_ms = config.groups.commit_timeout_ms
        self._topics = TopicsView(image)
        self.regexes = RegexResolution(loop, self._topics)

    def _new_shard(self, partition: LeaderPartition) -> GroupCoordinatorShard:
        return GroupCoordinatorShard(
            partition,
            GroupShard(self._config, self.new_member_suffix, self._memory, self._topics),
            self._loop,
            self._clock,
            self._commit_timeout_ms,
            lambda: self._image().topics,
        )

    def close(self) -> None:
        self.regexes.close()
        super().close()

    def topic_changed(self, topic: TopicImage) -> None:
        """A topic is new, or something about it has changed."""
        self._topics.changed(topic)

    def topics_deleted(self, names: Mapping[bytes, str]) -> None:
        """Delete the offsets of deleted topics; `names` has the name of each, by its id."""
        self._topics.removed(names.values())
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

    def new_member_suffix(self) -> str:
        return str(UUID(bytes=self._random.randbytes(16), version=4))


def group_config(
    config: BrokerConfig, image: Callable[[], MetadataImage] = MetadataImage
) -> GroupConfig:
    """The broker's settings for groups; `image` has those of single groups."""
    consumer = config.consumer_groups
    return GroupConfig(
        group_min_session_timeout_ms=config.groups.min_session_timeout_ms,
        group_max_session_timeout_ms=config.groups.max_session_timeout_ms,
        group_initial_rebalance_delay_ms=config.groups.initial_rebalance_delay_ms,
        group_max_size=config.groups.max_size,
        group_metadata_max_bytes=config.groups.metadata_max_bytes,
        offset_metadata_max_bytes=config.groups.offset_metadata_max_bytes,
        offsets_retention_ms=config.groups.offsets_retention_minutes * 60_000,
        offsets_retention_check_interval_ms=config.groups.offsets_retention_check_interval_ms,
        consumer=ConsumerGroupConfig(
            assignors=tuple(consumer.assignors.split(",")),
            max_size=consumer.max_size,
            migration_policy=MigrationPolicy(consumer.migration_policy),
            regex_refresh_interval_ms=consumer.regex_refresh_interval_ms,
            settings_of=lambda group_id: consumer_member_settings(
                consumer, image().group_configs(group_id)
            ),
        ),
        share=ShareGroupConfig(
            max_size=config.shares.max_size,
            settings_of=lambda group_id: share_member_settings(
                config.shares, image().group_configs(group_id)
            ),
        ),
    )
