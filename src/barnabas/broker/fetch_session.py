"""What a consumer reads, and what is new in it since it was last told.

A `FetchSession` holds the partitions of one consumer. It watches them, so that finding out what
is new costs nothing for partitions where nothing is: with a thousand partitions and data in one,
one is looked at. A fetch without a session uses a session that lives for that one request.
"""

from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Iterable

from barnabas.broker.leadership import leader_error
from barnabas.broker.partition import Partition
from barnabas.log import OffsetOutOfRange, StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, PartitionData

Key = tuple[str | bytes, int]
"""Topic name, or from version 13 on topic id, and partition index."""


class Entry:
    """One partition of a session: where the consumer stands, and what it was told."""

    __slots__ = ("key", "leader_epoch", "max_bytes", "offset", "partition", "told")

    def __init__(self, key: Key, partition: Partition | None) -> None:
        self.key = key
        self.partition = partition
        self.offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        self.told = (-1, -1)  # high watermark and log start offset of the last answer

    def update(self, asked: FetchPartition) -> None:
        self.offset = asked.fetch_offset
        self.max_bytes = asked.partition_max_bytes
        self.leader_epoch = asked.current_leader_epoch

    @property
    def is_lost(self) -> bool:
        """Whether there is no such partition, not yet or no more."""
        return self.partition is None or self.partition.deleted

    @property
    def error(self) -> ErrorCode:
        """Why this partition can't be read at all."""
        partition = self.partition
        error = leader_error(partition, self.leader_epoch)
        if partition is None or error is not ErrorCode.NONE:
            by_id = isinstance(self.key[0], bytes)
            return ErrorCode.UNKNOWN_TOPIC_ID if self.is_lost and by_id else error
        if not partition.log.log_start_offset <= self.offset <= partition.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return ErrorCode.NONE

    @property
    def has_records(self) -> bool:
        return self.partition is not None and self.offset < self.partition.high_watermark

    @property
    def is_told(self) -> bool:
        """Whether the consumer knows how far the partition reaches; the partition is there."""
        partition = self.partition
        assert partition is not None
        return self.told == (partition.high_watermark, partition.log.log_start_offset)

    def available_bytes(self) -> int:
        """How much a read would give, at least one byte."""
        partition = self.partition
        assert partition is not None
        try:
            available = partition.log.bytes_between(self.offset, partition.high_watermark)
        except StorageError:
            return self.max_bytes  # reading will fail too, and shall, for the client to know
        return min(available, self.max_bytes) or 1

    def read(self, max_bytes: int, *, min_one: bool) -> PartitionData:
        """The answer for this partition, with at most `max_bytes` of records."""
        error = self.error
        partition = self.partition
        index = self.key[1]
        if error is not ErrorCode.NONE:
            if partition is None or error is not ErrorCode.OFFSET_OUT_OF_RANGE:
                return PartitionData(index, error, -1, records=b"")
            return PartitionData(
                index,
                error,
                partition.high_watermark,
                partition.high_watermark,
                partition.log.log_start_offset,
                records=b"",
            )
        assert partition is not None
        high_watermark = partition.high_watermark
        records: bytes | memoryview = b""
        if self.offset < high_watermark and (max_bytes > 0 or min_one):
            try:
                records = partition.log.read(
                    self.offset,
                    min(max_bytes, self.max_bytes),
                    upto_offset=high_watermark,
                    min_one=min_one,
                )
            except OffsetOutOfRange:
                error = ErrorCode.OFFSET_OUT_OF_RANGE
            except StorageError:
                error = ErrorCode.KAFKA_STORAGE_ERROR
        return PartitionData(
            index,
            error,
            high_watermark,
            high_watermark,
            partition.log.log_start_offset,
            records=records,
        )


class FetchSession:
    """The partitions one consumer reads, and those among them with something to tell."""

    def __init__(self, session_id: int = 0) -> None:
        self.session_id = session_id
        self.epoch = 0
        self.entries: dict[Key, Entry] = {}
        self._of_partition: dict[Partition, Entry] = {}
        self._news: dict[Entry, None] = {}
        self._wait: FetchWait | None = None

    def add(self, entry: Entry, asked: FetchPartition) -> None:
        """Take a partition in, or take note of where the consumer stands in it now."""
        entry.update(asked)
        if entry.key not in self.entries:
            self.entries[entry.key] = entry
            self._follow(entry)
        self._news[entry] = None

    def lost(self) -> list[Entry]:
        """Partitions to look for again: by name, a topic may have come, or come back."""
        return [entry for entry in self._news if entry.is_lost]

    def found(self, entry: Entry, partition: Partition) -> None:
        """A lost partition is there."""
        if entry.partition is not None:
            self._of_partition.pop(entry.partition, None)
        entry.partition = partition
        self._follow(entry)

    def _follow(self, entry: Entry) -> None:
        if entry.partition is None:
            return
        self._of_partition[entry.partition] = entry
        if self.session_id:
            entry.partition.watchers.add(self)

    def forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            entry = self.entries.pop(key, None)
            if entry is None:
                continue
            self._news.pop(entry, None)
            if entry.partition is not None:
                self._of_partition.pop(entry.partition, None)
                entry.partition.watchers.discard(self)

    def close(self) -> None:
        for partition in self._of_partition:
            partition.watchers.discard(self)
        if self._wait is not None:
            self._wait.finish()

    def partition_moved(self, partition: Partition) -> None:
        entry = self._of_partition.get(partition)
        if entry is None:
            return
        self._news[entry] = None
        if self._wait is not None:
            self._wait.look()

    # -- reading -----------------------------------------------------------------------------------

    def is_satisfied(self, min_bytes: int) -> bool:
        """Whether there is enough to answer at once: `min_bytes`, or something wrong."""
        if min_bytes <= 0 or not self.entries:
            return True
        available = 0
        for entry in self._news:
            if entry.error is not ErrorCode.NONE:
                return True
            if entry.has_records:
                available += entry.available_bytes() if min_bytes > 1 else 1
            if available >= min_bytes:
                return True
        return False

    def read(self, max_bytes: int, *, everything: bool) -> list[tuple[Entry, PartitionData]]:
        """The answer: `everything`, or only partitions with something to tell.

        Partitions that gave records go to the end of the row, so that none starves behind a
        busy one when the answer is full.
        """
        answers: list[tuple[Entry, PartitionData]] = []
        left = max_bytes
        got_records = False
        served: list[Entry] = []
        for entry in tuple(self.entries.values() if everything else self._news):
            data = entry.read(left, min_one=not got_records)
            if data.records:
                left -= len(data.records)
                got_records = True
                served.append(entry)
            told = (data.high_watermark, data.log_start_offset)
            if everything or data.records or data.error_code or told != entry.told:
                entry.told = told
                answers.append((entry, data))
            if not data.error_code and not entry.has_records:
                self._news.pop(entry, None)
        for entry in served:
            self._news.pop(entry, None)
            self._news[entry] = None
        return answers

    def wait(self, loop: AbstractEventLoop, min_bytes: int, max_wait_ms: int) -> "Future[None]":
        """Something to wait for until `is_satisfied`, but not longer than `max_wait_ms`."""
        if self._wait is not None:
            self._wait.finish()
        if not self.session_id:
            for partition in self._of_partition:
                partition.watchers.add(self)
        # Who only waits for more need not be looked at when others move.
        is_kept = bool(self.session_id)
        self._news = {
            entry: None
            for entry in self._news
            if entry.has_records or (is_kept and not entry.is_told)
        }
        self._wait = FetchWait(self, loop, min_bytes, max_wait_ms)
        return self._wait.done

    def stop_waiting(self) -> None:
        self._wait = None


class FetchWait:
    """A long poll."""

    __slots__ = ("_min_bytes", "_session", "_timer", "done")

    def __init__(
        self, session: FetchSession, loop: AbstractEventLoop, min_bytes: int, max_wait_ms: int
    ) -> None:
        self._session = session
        self._min_bytes = min_bytes
        self.done: Future[None] = loop.create_future()
        self._timer: TimerHandle = loop.call_later(max_wait_ms / 1000, self.finish)

    def look(self) -> None:
        if self._session.is_satisfied(self._min_bytes):
            self.finish()

    def finish(self) -> None:
        self._timer.cancel()
        self._session.stop_waiting()
        if not self.done.done():
            self.done.set_result(None)
