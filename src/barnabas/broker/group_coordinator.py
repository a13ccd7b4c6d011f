"""Which groups this node looks after, and bringing them back when it begins to.

A group lives in the partition of `__consumer_offsets` that its id hashes to, and whoever leads
that partition coordinates the group. Who comes to lead it replays its log, all of it, and serves
only once all of it is committed: an offset that could still be lost is shown to nobody.

Partitions are loaded one after the other and in slices, so that everything else goes on meanwhile.
"""

import logging
from asyncio import AbstractEventLoop, Future, Task, sleep
from collections import deque
from collections.abc import Callable, Collection, Iterable
from random import Random
from uuid import UUID

from barnabas.broker.clock import Clock
from barnabas.broker.config import BrokerConfig
from barnabas.broker.led_shard import LedShard
from barnabas.broker.partition import Partition
from barnabas.broker.stored_records import record_slices
from barnabas.groups import CorruptGroupRecord, GroupConfig, GroupShard, partition_of_group
from barnabas.log import StorageError
from barnabas.metadata.image import CONSUMER_OFFSETS, MetadataImage
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_SLICE_BYTES = 1 << 16
"""Some hundred records, which take a few milliseconds to replay."""


class GroupCoordinator:
    """Finds the shard of a group; loads and ends shards as leadership comes and goes."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        config: BrokerConfig,
        clock: Clock,
        random: Random,
        image: Callable[[], MetadataImage],
        is_cut_off: Callable[[], bool] = lambda: False,
    ) -> None:
        """While `is_cut_off`, others may look after the groups that this node looked after."""
        self._loop = loop
        self._clock = clock
        self._random = random
        self._image = image
        self._is_cut_off = is_cut_off
        self._config = group_config(config)
        self._commit_timeout_ms = config.number("offsets.commit.timeout.ms")
        self._shards: dict[int, LedShard] = {}
        self._to_load: deque[LedShard] = deque()
        self._loader: Task[None] | None = None

    @property
    def shards(self) -> Iterable[LedShard]:
        """Those of the partitions led here, whether they can be served or not."""
        return self._shards.values()

    def find(self, group_id: str) -> LedShard | ErrorCode:
        """The shard that serves the group, or why there is none here."""
        topic = self._image().topics.get(CONSUMER_OFFSETS)
        if topic is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        shard = self._shards.get(partition_of_group(group_id, len(topic.partitions)))
        if shard is None or self._is_cut_off():
            return ErrorCode.NOT_COORDINATOR
        return shard.error or shard

    def topics_deleted(self, names: Collection[str]) -> None:
        """Offsets of deleted topics go with them."""
        for shard in self.shards:
            shard.topics_deleted(names)

    # -- leadership --------------------------------------------------------------------------------

    def leader_changed(self, partition: Partition) -> None:
        """A partition of any topic has another leader, another epoch, or is gone."""
        if partition.topic != CONSUMER_OFFSETS:
            return
        if partition.is_leader:
            self.became_leader(partition)
        elif (shard := self._shards.get(partition.index)) and shard.partition is partition:
            self.resigned(partition.index)

    def became_leader(self, partition: Partition) -> None:
        """This node leads a partition of `__consumer_offsets`, or leads it in a newer epoch.

        Somebody else may have led in between, so what was known in an older epoch is void.
        """
        former = self._shards.get(partition.index)
        if former is not None:
            if former.partition is partition and former.leads:
                return
            former.end()
        groups = GroupShard(self._config, self._new_member_suffix)
        shard = LedShard(
            partition,
            groups,
            self._loop,
            self._clock,
            self._commit_timeout_ms,
            lambda: self._image().topics,
        )
        self._shards[partition.index] = shard
        if partition.log.log_start_offset == partition.log.log_end_offset:
            self._serve_when_committed(shard, partition.log.log_end_offset)
            return
        self._to_load.append(shard)
        if self._loader is None:
            self._loader = self._loop.create_task(self._load_all())
            self._loader.add_done_callback(_report)

    def resigned(self, index: int) -> None:
        """This node leads the partition no longer, or there is no such partition any more."""
        shard = self._shards.pop(index, None)
        if shard is not None:
            shard.end()

    def close(self) -> None:
        """Answer everybody who waits: the broker goes away."""
        if self._loader is not None:
            self._loader.cancel()
        for index in list(self._shards):
            self.resigned(index)

    # -- loading -----------------------------------------------------------------------------------

    async def _load_all(self) -> None:
        try:
            while self._to_load:
                shard = self._to_load.popleft()
                if shard.leads:
                    await self._load(shard)
        finally:
            self._loader = None

    async def _load(self, shard: LedShard) -> None:
        partition = shard.partition
        log = partition.log
        end_offset = log.log_end_offset
        segments = log.segments
        replayed = 0
        try:
            for records in record_slices(log, end_offset, _SLICE_BYTES):
                for record in records:
                    if record.key is not None:
                        shard.groups.replay(record.key, record.value)
                replayed += len(records)
                await sleep(0)
                if not shard.leads:
                    return
        except (StorageError, CorruptGroupRecord) as error:
            shard.damaged()
            logger.critical(
                "%s-%d is damaged, and the groups in it can't be served: %s",
                partition.topic,
                partition.index,
                error,
            )
            return
        if log.segments != segments:
            # A compaction has been at it. It may have taken a tombstone away before it was read,
            # together with the record that was deleted by it, which has been read.
            shard.groups.unload()
            self._to_load.append(shard)
            return
        logger.info("%s-%d: %d records of groups", partition.topic, partition.index, replayed)
        self._serve_when_committed(shard, end_offset)

    def _serve_when_committed(self, shard: LedShard, end_offset: int) -> None:
        waiter = shard.partition.committed(end_offset)
        if waiter is None:
            shard.serve()
        else:
            waiter.add_done_callback(lambda done: self._reached(shard, done))

    def _reached(self, shard: LedShard, done: "Future[None]") -> None:
        if not shard.leads:
            return
        if done.cancelled():
            shard.damaged()
            partition = shard.partition
            logger.critical(
                "%s-%d: what is stored can't be committed, and its groups can't be served",
                partition.topic,
                partition.index,
            )
        else:
            shard.serve()

    def _new_member_suffix(self) -> str:
        return str(UUID(bytes=self._random.randbytes(16), version=4))


def _report(loader: "Task[None]") -> None:
    if not loader.cancelled():
        loader.result()  # should it raise, the event loop says so at once


def group_config(config: BrokerConfig) -> GroupConfig:
    """What the broker's settings say about groups."""
    return GroupConfig(
        group_min_session_timeout_ms=config.number("group.min.session.timeout.ms"),
        group_max_session_timeout_ms=config.number("group.max.session.timeout.ms"),
        group_initial_rebalance_delay_ms=config.number("group.initial.rebalance.delay.ms"),
        group_max_size=config.number("group.max.size"),
        offset_metadata_max_bytes=config.number("offset.metadata.max.bytes"),
        offsets_retention_ms=config.number("offsets.retention.minutes") * 60_000,
    )
