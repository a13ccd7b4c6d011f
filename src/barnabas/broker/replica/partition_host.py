"""What the partitions of a node share."""

from asyncio import AbstractEventLoop
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.broker.runtime.clock import Clock

if TYPE_CHECKING:
    from barnabas.broker.replica.partition import Partition


def never() -> bool:
    return False


def ignore(_: "Partition") -> None:
    """A callback that does nothing."""


def nowhere(_: "Partition") -> str:
    return ""


def ignore_offset(_: "Partition", _offset: int) -> None:
    """A callback that does nothing."""


def ignore_offline(_topic: str, _topic_id: bytes, _index: int) -> None:
    """A callback that does nothing."""


def ignore_scan(_name: str, _scanned_bytes: int, _cut_bytes: int) -> None:
    """A callback that does nothing."""


def ignore_cut(_name: str, _end: int, _before: int, _directory: str) -> None:
    """A callback that does nothing."""


@dataclass(frozen=True, slots=True)
class PartitionHost:
    """The node, as its partitions see it."""

    node_id: int
    loop: AbstractEventLoop
    clock: Clock
    replica_lag_time_max_ms: int
    broker_epoch_of: Callable[[int], int | None]
    """The epoch of a broker that may be in sync; None if it is fenced or shutting down."""
    on_append: Callable[["Partition"], None]
    """Called after an append to a partition whose topic sets `flush.*`."""
    on_follower_ready: Callable[["Partition"], None]
    """Called when a follower may join the in-sync set."""
    is_cut_off: Callable[[], bool] = never
    """Whether another node may by now lead partitions that this node believes it leads."""
    on_doubt: Callable[["Partition"], None] = ignore
    """Called when a replica can no longer vouch for what it has acknowledged."""
    on_offline: Callable[[str, bytes, int], None] = ignore_offline
    """Called with topic, topic id and index of a replica whose disk failed."""
    on_rejected: Callable[["Partition", int], None] = ignore_offset
    """Called with the offset at which a follower seems to find damage."""
    moved: Callable[["Partition"], None] = ignore
    """Called when a high watermark has moved."""
    on_unwritable: Callable[[str, bytes, int], None] = ignore_offline
    """Called with topic, topic id and index of a replica that can't append."""
    set_aside: Callable[["Partition"], str] = nowhere
    """A new directory for records truncated from a log; empty if they are not kept."""
    settled: Callable[["Partition"], None] = ignore
    """Called when the controller knows that a replica lacks records."""
    unclosed: Callable[[str, int, int], None] = ignore_scan
    """Called with the name of a log that was not closed, the bytes scanned and those truncated."""
    truncated: Callable[[str, int, int, str], None] = ignore_cut
    """Called with the name of a log, its end, the end before, and where the rest is now."""
