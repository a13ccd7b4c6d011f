"""A partition that this node leads, as coordinators use it."""

from asyncio import Future
from typing import Protocol

from barnabas.log import AppendInfo, Log
from barnabas.records.batch import BatchHeader


class Appender(Protocol):
    def append_internal(self, batch: bytearray, header: BatchHeader, now_ms: int) -> AppendInfo:
        """Store a batch as for a producer with acks=all; raises if that is not possible."""


class LeaderPartition(Protocol):
    """`broker.replica.partition.Partition` is one."""

    topic: str
    index: int
    log: Log
    leader_epoch: int
    high_watermark: int

    @property
    def is_leader(self) -> bool: ...

    @property
    def appender(self) -> Appender: ...

    def committed(self, next_offset: int) -> "Future[None] | None":
        """Done when the high watermark reaches `next_offset`; None if it has already."""

    def log_refusal(self, error: Exception, now_ms: int) -> None: ...
