"""The shards of a coordinator's topic that this node leads, and loading them.

A coordinator stores the state of a key in the partition of its topic that the key hashes to, and
the leader of that partition is the key's coordinator. A new leader replays the whole log, and
serves only once all of it is committed: state that could still be lost is never shown.

Partitions are loaded one after the other and in slices, so that other requests are served
meanwhile.
"""

import logging
from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, Future, Task, sleep
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from barnabas.broker.coordinator.coordinator_shard import CoordinatorShard
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.coordinator.stored_records import batch_slices
from barnabas.coordination.coordinator_partition import partition_of
from barnabas.coordination.record_format import CorruptRecord
from barnabas.log import StorageError
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_SLICE_BYTES = 1 << 16
"""A few hundred records, which take a few milliseconds to replay."""

ShardT = TypeVar("ShardT", bound=CoordinatorShard[Any])


class Coordinator(ABC, Generic[ShardT]):
    """Finds the shard of a key; loads and ends shards as leadership comes and goes."""

    def __init__(
        self,
        topic: str,
        loop: AbstractEventLoop,
        image: Callable[[], MetadataImage],
        is_cut_off: Callable[[], bool] = lambda: False,
    ) -> None:
        """While `is_cut_off`, other nodes may coordinate what this node coordinated."""
        self._topic = topic
        self._loop = loop
        self._image = image
        self._is_cut_off = is_cut_off
        self._shards: dict[int, ShardT] = {}
        self._to_load: deque[ShardT] = deque()
        self._loader: Task[None] | None = None

    @abstractmethod
    def _new_shard(self, partition: LeaderPartition) -> ShardT: ...

    @property
    def shards(self) -> Iterable[ShardT]:
        """The shards of all partitions led here, whether they can serve or not."""
        return self._shards.values()

    def find(self, key: str) -> ShardT | ErrorCode:
        """The shard that serves the group or transaction, or why there is none here."""
        topic = self._image().topics.get(self._topic)
        if topic is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        shard = self._shards.get(partition_of(key, len(topic.partitions)))
        if shard is None or self._is_cut_off():
            return ErrorCode.NOT_COORDINATOR
        return shard.error or shard

    # -- leadership --------------------------------------------------------------------------------

    def leader_changed(self, partition: LeaderPartition) -> None:
        """A partition of any topic has another leader, another epoch, or is gone."""
        if partition.topic != self._topic:
            return
        if partition.is_leader:
            self.became_leader(partition)
        elif (shard := self._shards.get(partition.index)) and shard.partition is partition:
            self.resigned(partition.index)

    def became_leader(self, partition: LeaderPartition) -> None:
        """This node leads a partition of the topic, or leads it in a newer epoch.

        Another node may have led in between, so state from an older epoch is discarded.
        """
        former = self._shards.get(partition.index)
        if former is not None:
            if former.partition is partition and former.leads:
                return
            former.end()
        shard = self._shards[partition.index] = self._new_shard(partition)
        if partition.log.log_start_offset == partition.log.log_end_offset:
            self._serve_when_committed(shard, partition.log.log_end_offset)
            return
        self._to_load.append(shard)
        if self._loader is None:
            self._loader = self._loop.create_task(self._load_all())
            self._loader.add_done_callback(_report)

    def resigned(self, index: int) -> None:
        """This node no longer leads the partition, or the partition no longer exists."""
        shard = self._shards.pop(index, None)
        if shard is not None:
            shard.end()

    def close(self) -> None:
        """Answer all waiting requests: the broker is shutting down."""
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

    async def _load(self, shard: ShardT) -> None:
        partition = shard.partition
        log = partition.log
        end_offset = log.log_end_offset
        segments = log.segment_infos()
        replayed = 0
        try:
            for batches in batch_slices(log, end_offset, _SLICE_BYTES):
                for header, records in batches:
                    shard.replay(header, records)
                    replayed += len(records)
                await sleep(0)
                if not shard.leads:
                    return
        except (StorageError, CorruptRecord) as error:
            shard.damaged()
            logger.critical(
                "%s-%d is damaged and can't be loaded: %s",
                partition.topic,
                partition.index,
                error,
            )
            return
        if log.segment_infos() != segments:
            # A compaction ran meanwhile. It may have removed a tombstone before it was read,
            # together with the record that it deleted, which has been read.
            shard.unload()
            self._to_load.append(shard)
            return
        logger.info("%s-%d: %d records replayed", partition.topic, partition.index, replayed)
        self._serve_when_committed(shard, end_offset)

    def _serve_when_committed(self, shard: ShardT, end_offset: int) -> None:
        waiter = shard.partition.committed(end_offset)
        if waiter is None:
            shard.serve(end_offset)
        else:
            waiter.add_done_callback(lambda done: self._reached(shard, end_offset, done))

    def _reached(self, shard: ShardT, end_offset: int, done: "Future[None]") -> None:
        if not shard.leads:
            return
        if done.cancelled():
            shard.damaged()
            partition = shard.partition
            logger.critical(
                "%s-%d: its records can't be committed; the coordinator does not serve it",
                partition.topic,
                partition.index,
            )
        else:
            shard.serve(end_offset)


def _report(loader: "Task[None]") -> None:
    if not loader.cancelled():
        loader.result()  # if it raised, the event loop logs that at once
