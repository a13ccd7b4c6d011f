"""The records between two offsets of a partition, with what became of their transactions.

Up to the last stable offset the broker says which transactions were aborted. Behind it their end is
not known yet, so records are read whatever becomes of them.

What a broker sends is compressed: batches are opened one after the other, in a thread, until what
they hold takes so much memory; the others are asked for again.
"""

import asyncio
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.consumer.completed_fetch import end_of
from barnabas.client.consumer.fetch_request import FetchTuning, fetch
from barnabas.client.offsets.isolation import AbortedTransactions, IsolationLevel
from barnabas.errors import CorruptRecords, InvalidArgument
from barnabas.records.batch import BatchHeader
from barnabas.records.decode import decode_messages, iter_batches
from barnabas.records.errors import DecompressionBomb, RecordsError
from barnabas.records.message import Message
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import PartitionData

DEFAULT_BYTES = 1024 * 1024
OPENED_BYTES = 8 * 1024 * 1024
"""Of the opened records of a piece; its first batch may be larger."""
BATCH_BYTES = 64 * 1024 * 1024
"""Of one opened batch. A few kilobytes may hold gigabytes of zeros."""
_RECORD_BYTES = 300
_BATCH_RECORDS = 400_000


class TransactionState(StrEnum):
    """What became of the transaction of a record."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


class Found(NamedTuple):
    """A record; `transaction` is None for one that was sent without."""

    message: Message
    transaction: TransactionState | None


class Piece(NamedTuple):
    """Records of one answer; the next one is at `next_offset`."""

    records: list[Found]
    next_offset: int


class RangeReader:
    """Reads a part of a partition, answer by answer."""

    def __init__(
        self,
        client: ClusterClient,
        channel: Channel,
        partition: TopicPartition,
        stable: int,
        *,
        max_bytes: int = DEFAULT_BYTES,
    ) -> None:
        self._client = client
        self._channel = channel
        self._partition = partition
        self._stable = stable
        self._tuning = FetchTuning(
            max_wait_ms=0, min_bytes=0, max_bytes=max_bytes, partition_max_bytes=max_bytes
        )

    async def read(self, start: int, stop: int) -> list[Found]:
        """All records from `start` up to but not including `stop`."""
        found: list[Found] = []
        while start < stop:
            piece = await self.read_piece(start, stop)
            found += piece.records
            start = piece.next_offset
        return found

    async def read_piece(self, start: int, stop: int) -> Piece:
        """What comes first from `start` on; its next offset is at least one further."""
        is_stable = start < self._stable
        isolation = IsolationLevel.READ_COMMITTED if is_stable else IsolationLevel.READ_UNCOMMITTED

        async def attempt() -> PartitionData:
            leader = await self._client.leader(self._partition)
            answers = await fetch(
                self._client,
                leader,
                self._channel,
                {self._partition: start},
                self._tuning,
                isolation,
            )
            for _, data in answers:
                if data.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
                    check(data.error_code, f"partition {self._partition} at offset {start}")
                return data
            return PartitionData(records=b"")

        data = await self._client.retrying(attempt, topics=[self._partition.topic])
        if data.error_code:  # retention has been here meanwhile
            return Piece([], max(start + 1, data.log_start_offset))
        records = data.records or b""
        end = end_of(records) if records else None
        if end is None:  # nothing is left up to the end
            return Piece([], min(stop, self._stable) if is_stable else stop)
        return await asyncio.to_thread(
            open_answer, self._partition, data, start, stop, end, is_stable=is_stable
        )


def open_answer(
    partition: TopicPartition,
    data: PartitionData,
    start: int,
    stop: int,
    end: int,
    *,
    is_stable: bool,
) -> Piece:
    """The records of an answer, or of its first batches if they are large."""
    aborted = AbortedTransactions(data.aborted_transactions if is_stable else ())
    found: list[Found] = []
    size = 0
    try:
        for header, batch in iter_batches(data.records or b""):
            hidden = aborted.hide(header, batch)
            if header.is_control or header.next_offset <= start or header.base_offset >= stop:
                continue
            expected = max(len(batch), header.record_count * _RECORD_BYTES)
            if found and size + expected > OPENED_BYTES:
                return Piece(found, header.base_offset)
            if header.record_count > _BATCH_RECORDS:
                raise _too_large(partition, header)
            state = None
            if header.is_transactional:
                state = TransactionState.COMMITTED if is_stable else TransactionState.OPEN
                state = TransactionState.ABORTED if hidden else state
            try:
                messages = decode_messages(batch, *partition, start, limit=BATCH_BYTES)
            except DecompressionBomb:
                if found:  # what comes before it can be shown
                    return Piece(found, header.base_offset)
                raise _too_large(partition, header) from None
            opened = [Found(each, state) for each in messages if each.offset < stop]
            found += opened
            size += size_of(opened)
    except RecordsError as error:
        raise CorruptRecords(
            f"partition {partition}: a batch from offset {start} on is damaged ({error})"
        ) from error
    return Piece(found, max(end, start + 1))


def _too_large(partition: TopicPartition, header: BatchHeader) -> InvalidArgument:
    return InvalidArgument(
        f"the records of partition {partition} from offset {header.base_offset} to "
        f"{header.next_offset - 1} are one batch of more than {BATCH_BYTES >> 20} MiB or "
        f"{_BATCH_RECORDS} records, so the console does not open them; go on from offset "
        f"{header.next_offset}, or read them with `barnabas consume`"
    )


def size_of(records: Iterable[Found]) -> int:
    """About the bytes that records take in memory."""
    return sum(
        _RECORD_BYTES
        + len(each.message.key or b"")
        + len(each.message.value or b"")
        + sum(len(name) + len(value or b"") for name, value in each.message.headers)
        for each in records
    )
