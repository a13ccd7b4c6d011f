"""Interfaces of those that are notified when a partition changes."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.broker.replica.partition import Partition


class Watcher(Protocol):
    """Is notified when there is more to read, or when the partition is removed."""

    def partition_moved(self, partition: "Partition") -> None: ...


class ReplicaWatcher(Watcher, Protocol):
    """A follower: it reads up to the log end, and is also notified when the high watermark
    moves."""

    def high_watermark_moved(self, partition: "Partition") -> None: ...
