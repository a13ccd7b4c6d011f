"""Records on their way out: a queue of batches for every partition, and a bound on them all.

A partition's batches leave in order and one at a time, so a retry can never overtake what came
before it. `Accumulator` knows nothing of sockets; the producer asks it what is ready.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.client.errors import BarnabasError
from barnabas.client.metadata import TopicPartition
from barnabas.records.batch import HEADER_SIZE
from barnabas.records.compression import Compression
from barnabas.records.encode import encode_batch, max_record_size
from barnabas.records.record import Row

_MAX_SEQUENCE = (1 << 31) - 1


class Delivery(NamedTuple):
    """Where a record went. The offset is -1 when the broker was not asked to acknowledge."""

    topic: str
    partition: int
    offset: int
    timestamp: int


class ProducerIdentity(NamedTuple):
    """By what brokers know a producer's batches again, beside their sequence numbers."""

    producer_id: int
    producer_epoch: int
    transactional: bool = False


ANONYMOUS = ProducerIdentity(-1, -1)


class Batch:
    """Records of one partition that travel together."""

    __slots__ = (
        "attempts",
        "closed",
        "created_at",
        "encoded",
        "futures",
        "last_error",
        "rows",
        "size",
    )

    def __init__(self, created_at: float) -> None:
        self.created_at = created_at
        self.rows: list[Row] = []
        self.futures: list[asyncio.Future[Delivery]] = []
        self.size = HEADER_SIZE
        self.closed = False
        self.attempts = 0
        self.last_error: BarnabasError | None = None
        self.encoded: bytearray | None = None

    def encode(
        self, compression: Compression, identity: ProducerIdentity, base_sequence: int
    ) -> bytearray:
        """The batch on the wire, made once for all attempts: so brokers know it again."""
        if self.encoded is None:
            self.encoded = encode_batch(
                self.rows,
                compression=compression,
                producer_id=identity.producer_id,
                producer_epoch=identity.producer_epoch,
                base_sequence=-1 if identity is ANONYMOUS else base_sequence,
                transactional=identity.transactional,
            )
        return self.encoded

    def split(self) -> "tuple[Batch, Batch]":
        """Two halves, for a broker that found the whole too large."""
        middle = len(self.rows) // 2
        halves = Batch(self.created_at), Batch(self.created_at)
        for half, part in zip(halves, (slice(middle), slice(middle, None)), strict=True):
            half.rows = self.rows[part]
            half.futures = self.futures[part]
            half.size += sum(max_record_size(row[1], row[2], row[3]) for row in half.rows)
            half.closed = True
        return halves


class Lane:
    """The batches of one partition. Only the first may be on its way.

    `next_sequence` counts the records that were delivered under the lane's identity, so it is the
    sequence number of the first batch's first record.
    """

    __slots__ = ("batches", "identity", "in_flight", "next_sequence", "partition", "retry_at")

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.batches: deque[Batch] = deque()
        self.in_flight = False
        self.retry_at = 0.0
        self.identity: ProducerIdentity | None = None
        self.next_sequence = 0

    def encode(self, compression: Compression) -> bytearray:
        """The first batch on the wire."""
        return self.batches[0].encode(compression, self.identity or ANONYMOUS, self.next_sequence)

    def start_over(self) -> None:
        """Give the identity up: whether the first batch arrived is unknown, or nobody believes it.

        What comes next would else have a gap before it that brokers refuse.
        """
        self.identity = None
        self.next_sequence = 0
        if self.batches:
            self.batches[0].encoded = None


class Added(NamedTuple):
    """A queued record, and whether it began a batch or filled one."""

    future: asyncio.Future[Delivery]
    opened: bool
    filled: bool


class Accumulator:
    """All lanes. `buffered_bytes` counts what is neither delivered nor given up."""

    def __init__(self, *, batch_bytes: int, buffer_bytes: int, linger_ms: float) -> None:
        self.batch_bytes = batch_bytes
        self.buffer_bytes = buffer_bytes
        self.linger = linger_ms / 1000
        self.buffered_bytes = 0
        self._lanes: dict[TopicPartition, Lane] = {}
        self._room = asyncio.Event()
        self._room.set()

    async def wait_for_room(self) -> None:
        """Wait until less than `buffer_bytes` are buffered."""
        await self._room.wait()

    @property
    def has_room(self) -> bool:
        return self.buffered_bytes < self.buffer_bytes

    @property
    def is_empty(self) -> bool:
        return self.buffered_bytes == 0

    def add(self, partition: TopicPartition, row: Row, size: int, now: float) -> Added:
        """Queue a record; `size` is its `max_record_size`."""
        lane = self._lanes.get(partition)
        if lane is None:
            lane = self._lanes[partition] = Lane(partition)
        opened = filled = False
        batch = lane.batches[-1] if lane.batches else None
        if batch is None or batch.closed or batch.size + size > self.batch_bytes:
            if batch is not None and not batch.closed:
                batch.closed = filled = True
            batch = Batch(now)
            lane.batches.append(batch)
            opened = True
        future: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()
        batch.rows.append(row)
        batch.futures.append(future)
        batch.size += size
        if batch.size >= self.batch_bytes:
            batch.closed = filled = True
        self.buffered_bytes += size
        if self.buffered_bytes >= self.buffer_bytes:
            self._room.clear()
        return Added(future, opened, filled)

    def ready(self, now: float, *, flushing: bool) -> Iterator[Lane]:
        """Lanes whose first batch should leave now: full, old enough, or being flushed."""
        for lane in self._lanes.values():
            if not lane.batches or lane.in_flight or lane.retry_at > now:
                continue
            batch = lane.batches[0]
            if batch.closed or flushing or now - batch.created_at >= self.linger:
                yield lane

    def next_ready_at(self) -> float | None:
        """When the next lane becomes ready by time alone."""
        times = (
            max(lane.retry_at, 0.0 if lane.batches[0].closed else self._lingered_at(lane))
            for lane in self._lanes.values()
            if lane.batches and not lane.in_flight
        )
        return min(times, default=None)

    def _lingered_at(self, lane: Lane) -> float:
        return lane.batches[0].created_at + self.linger

    def delivered(self, lane: Lane, base_offset: int, log_append_time_ms: int) -> int:
        """The first batch has arrived; tell its records where, and return how many they are."""
        batch = self._take(lane)
        lane.next_sequence = (lane.next_sequence + len(batch.rows)) & _MAX_SEQUENCE
        topic, partition = lane.partition
        for index, (row, future) in enumerate(zip(batch.rows, batch.futures, strict=True)):
            if not future.done():
                offset = base_offset + index if base_offset >= 0 else -1
                timestamp = log_append_time_ms if log_append_time_ms >= 0 else row[0]
                future.set_result(Delivery(topic, partition, offset, timestamp))
        return len(batch.rows)

    def failed(self, lane: Lane, error: BarnabasError) -> int:
        """The first batch is given up; tell its records why, and return how many they are."""
        batch = self._take(lane)
        for future in batch.futures:
            if not future.done():
                future.set_exception(error)
                future.exception()  # nobody has to look: the producer counts failures itself
        return len(batch.rows)

    def discard(self, error: BarnabasError) -> list[Batch]:
        """Give up and return all that is not on its way."""
        discarded: list[Batch] = []
        for lane in self._lanes.values():
            under_way = [lane.batches.popleft()] if lane.in_flight else []
            while lane.batches:
                discarded.append(lane.batches[0])
                self.failed(lane, error)
            lane.batches.extend(under_way)
            lane.in_flight = bool(under_way)
        return discarded

    def split_first(self, lane: Lane) -> None:
        """Put two halves in the place of the first batch."""
        batch = self._take(lane)
        for half in reversed(batch.split()):
            lane.batches.appendleft(half)
            self.buffered_bytes += half.size - HEADER_SIZE

    def _take(self, lane: Lane) -> Batch:
        batch = lane.batches.popleft()
        lane.in_flight = False
        self.buffered_bytes -= batch.size - HEADER_SIZE
        if self.has_room:
            self._room.set()
        return batch


def requests_of(lanes: list[Lane], request_bytes: int) -> Iterator[list[Lane]]:
    """Cut `lanes` into requests of at most `request_bytes`, a single larger batch aside."""
    group: list[Lane] = []
    size = 0
    for lane in lanes:
        if group and size + lane.batches[0].size > request_bytes:
            yield group
            group, size = [], 0
        group.append(lane)
        size += lane.batches[0].size
    if group:
        yield group
