"""The shards of a coordinator's topic that this node leads.

A coordinator stores the state of a key in the partition of its topic that the key hashes to, and
the leader of that partition is the key's coordinator. A new leader loads it (`shard_loader`).
"""

from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from barnabas.broker.coordinator.coordinator_shard import CoordinatorShard
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.coordinator.shard_loader import ShardLoader
from barnabas.coordination.coordinator_partition import partition_of
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode

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
        self._loader = ShardLoader(loop)

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
        self._loader.load(shard)

    def resigned(self, index: int) -> None:
        """This node no longer leads the partition, or the partition no longer exists."""
        shard = self._shards.pop(index, None)
        if shard is not None:
            shard.end()

    def close(self) -> None:
        """Answer all waiting requests: the broker is shutting down."""
        self._loader.close()
        for index in list(self._shards):
            self.resigned(index)
