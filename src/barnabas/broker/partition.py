"""A partition on this node: its log, its high watermark, and who waits for that to move.

The high watermark is the offset up to which consumers may read. A topic that sets `flush.*` has
it follow the flush; every other topic the append.
"""

import logging
from asyncio import Future, get_running_loop
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from barnabas.log import AppendInfo, Log, LogConfig, StorageError
from barnabas.records.batch import BatchHeader
from barnabas.records.decode import decode_batch
from barnabas.records.errors import CorruptBatch, InvalidBatch
from barnabas.records.validate import validate_batches
from barnabas.wire.errors import ErrorCode
from barnabas.wire.primitives import Buffer

logger = logging.getLogger(__name__)

_REFUSALS_LOGGED_EVERY_MS = 60_000


class Watcher(Protocol):
    """Somebody who wants to know when there is more to read, or nothing ever again."""

    def partition_moved(self, partition: "Partition") -> None: ...


@dataclass(frozen=True, slots=True)
class AppendLimits:
    """What a topic's settings allow a producer to send."""

    max_message_bytes: int
    max_decompressed_bytes: int
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    needs_keys: bool
    """Compaction goes by key, so a compacted topic takes no record without one."""
    min_insync_replicas: int = 1
    """For acks=all. There is one replica, so more than one can't be had."""


class Partition:
    """The leader's side of one partition."""

    __slots__ = (
        "_committing",
        "_on_append",
        "_refusal_logged_ms",
        "deleted",
        "flush_required",
        "high_watermark",
        "index",
        "leader_epoch",
        "limits",
        "log",
        "topic",
        "watchers",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        log: Log,
        leader_epoch: int,
        limits: AppendLimits,
        on_append: Callable[["Partition"], None],
    ) -> None:
        self.topic = topic
        self.index = index
        self.log = log
        self.leader_epoch = leader_epoch
        self.limits = limits
        self.flush_required = log.flush_required
        self.watchers: set[Watcher] = set()
        self.deleted = False
        # What is in the log at the start was flushed at the last close or survived the crash.
        self.high_watermark = log.log_end_offset
        self._on_append = on_append
        self._committing: list[tuple[int, Future[None]]] = []
        self._refusal_logged_ms: int | None = None

    @property
    def is_leader(self) -> bool:
        return not self.deleted

    def append(self, records: Buffer | None, now_ms: int) -> AppendInfo:
        """Store what a producer sent, in the producer's own buffer.

        Raises `InvalidBatch` or `StorageError`; then nothing of it is stored.
        """
        limits = self.limits
        view = records if isinstance(records, memoryview) else memoryview(records or b"")
        batches = validate_batches(
            view,
            max_batch_bytes=limits.max_message_bytes,
            max_decompressed_bytes=limits.max_decompressed_bytes,
        )
        header = batches[0][1]
        if header.is_transactional:
            raise InvalidBatch(
                ErrorCode.INVALID_TXN_STATE, "transactions are not supported by this broker"
            )
        if header.max_timestamp >= 0 and not self.log.config.is_log_append_time:
            self._check_timestamps(header, now_ms)
        if header.producer_id >= 0:
            original = self.log.find_duplicate(header)
            if original is not None:
                return original
        if limits.needs_keys:
            check_keys(view, limits.max_decompressed_bytes)
        return self._store(view, batches, now_ms)

    def log_refusal(self, error: StorageError, now_ms: int) -> None:
        """Say that the disk refused, once in a while: producers try again many times a second."""
        logged_ms = self._refusal_logged_ms
        if logged_ms is None or not 0 <= now_ms - logged_ms < _REFUSALS_LOGGED_EVERY_MS:
            self._refusal_logged_ms = now_ms
            logger.error("%s-%d takes no records: %s", self.topic, self.index, error)

    def append_internal(self, batch: bytearray, header: BatchHeader, now_ms: int) -> AppendInfo:
        """Store a batch that the broker itself made. Raises `StorageError`."""
        return self._store(memoryview(batch), [(0, header)], now_ms)

    def _store(
        self, view: memoryview, batches: list[tuple[int, BatchHeader]], now_ms: int
    ) -> AppendInfo:
        log = self.log
        if self.watchers:
            log.expect_reader()
        info = log.append(view, batches, self.leader_epoch, now_ms)
        if self.flush_required:
            self._on_append(self)
        else:
            self._advance(log.log_end_offset)
        return info

    def _check_timestamps(self, header: BatchHeader, now_ms: int) -> None:
        limits = self.limits
        if header.max_timestamp - now_ms > limits.timestamp_after_max_ms:
            raise InvalidBatch(
                ErrorCode.INVALID_TIMESTAMP,
                f"a timestamp lies {header.max_timestamp - now_ms} ms ahead of the broker's "
                f"clock; message.timestamp.after.max.ms is {limits.timestamp_after_max_ms}",
            )
        if now_ms - header.base_timestamp > limits.timestamp_before_max_ms:
            raise InvalidBatch(
                ErrorCode.INVALID_TIMESTAMP,
                f"a timestamp lies {now_ms - header.base_timestamp} ms behind the broker's "
                f"clock; message.timestamp.before.max.ms is {limits.timestamp_before_max_ms}",
            )

    # -- the high watermark ------------------------------------------------------------------------

    def configure(self, config: LogConfig, limits: AppendLimits) -> None:
        """Settings of the topic have changed."""
        self.log.config = config
        self.limits = limits
        self.flush_required = self.log.flush_required
        self.flushed()
        if self.flush_required:
            self._on_append(self)  # a flush may be due earlier now

    def flushed(self) -> None:
        """The log has reached the disk a little further."""
        log = self.log
        self._advance(log.flushed_offset if self.flush_required else log.log_end_offset)

    def _advance(self, offset: int) -> None:
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        if self.watchers:
            self.notify()
        if self._committing:
            self._release(offset)

    def notify(self) -> None:
        """Tell everybody who watches; watchers come and go meanwhile."""
        for watcher in tuple(self.watchers):
            watcher.partition_moved(self)

    def _release(self, offset: int) -> None:
        waiting = []
        for wanted, future in self._committing:
            if wanted > offset:
                waiting.append((wanted, future))
            elif not future.done():
                future.set_result(None)
        self._committing = waiting

    def committed(self, next_offset: int) -> Future[None] | None:
        """Something to wait for until the high watermark reaches `next_offset`; None: it has.

        It is cancelled when that will not happen.
        """
        if next_offset <= self.high_watermark:
            return None
        future: Future[None] = get_running_loop().create_future()
        self._committing.append((next_offset, future))
        return future

    def retire(self) -> None:
        """The partition is gone; whoever watches shall look and see."""
        self.deleted = True
        self.notify()
        self.watchers.clear()
        self.give_up()

    def give_up(self) -> None:
        """What waits to be committed will not be: the disk has failed, or the topic is gone."""
        for _, future in self._committing:
            future.cancel()
        self._committing.clear()


def check_keys(batch: memoryview, max_decompressed_bytes: int) -> None:
    """Raise unless every record of the batch has a key."""
    try:
        records = decode_batch(batch, limit=max_decompressed_bytes)
    except CorruptBatch as error:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, str(error)) from error
    for record in records:
        if record.key is None:
            raise InvalidBatch(
                ErrorCode.INVALID_RECORD,
                "a compacted topic takes only records with a key (cleanup.policy=compact)",
            )
