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
    """For whoever need not be told."""


def nowhere(_: "Partition") -> str:
    return ""


def ignore_offset(_: "Partition", _offset: int) -> None:
    """The same."""


def ignore_offline(_topic: str, _topic_id: bytes, _index: int) -> None:
    """The same."""


@dataclass(frozen=True, slots=True)
class PartitionHost:
    """The node, as its partitions see it."""

    node_id: int
    loop: AbstractEventLoop
    clock: Clock
    replica_lag_time_max_ms: int
    broker_epoch_of: Callable[[int], int | None]
    """The epoch of a broker that may be in sync; None for one that is fenced or leaving."""
    on_append: Callable[["Partition"], None]
    """Called after an append to a partition whose topic sets `flush.*`."""
    on_follower_ready: Callable[["Partition"], None]
    """Called when a follower may join the in-sync set."""
    is_cut_off: Callable[[], bool] = never
    """Whether another node may lead by now what this one believes to lead."""
    on_doubt: Callable[["Partition"], None] = ignore
    """Called when a replica can no longer vouch for what it has acknowledged."""
    on_offline: Callable[[str, bytes, int], None] = ignore_offline
    """Called with topic, topic id and index of a replica that the disk refuses."""
    on_rejected: Callable[["Partition", int], None] = ignore_offset
    """Called with an offset from which on a follower seems to find damage."""
    moved: Callable[["Partition"], None] = ignore
    """Called when a high watermark has moved."""
    set_aside: Callable[["Partition"], str] = nowhere
    """A new directory for what is cut off a log; empty if it is not to be kept."""
