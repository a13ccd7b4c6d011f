"""Who is told when a partition moves."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.broker.replica.partition import Partition


class Watcher(Protocol):
    """Somebody who wants to know when there is more to read, or nothing ever again."""

    def partition_moved(self, partition: "Partition") -> None: ...


class ReplicaWatcher(Watcher, Protocol):
    """A follower: it reads up to the end of the log, and is told what is committed."""

    def high_watermark_moved(self, partition: "Partition") -> None: ...
