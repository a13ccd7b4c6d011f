"""Writes each due record where it goes, and finds another way for one that is refused there.

A record comes uncompressed to the mover, however it was sent, and most are written that way: any
reader of the topic can read them. A large one may only have fitted because it was compressed, so
it is compressed with zstd if that makes it smaller. If a broker refuses a record:

    1. it is written alone, with zstd if that makes it smaller
    2. it stays in TOPIC.delayed, where it is written again and is due in an hour

So it holds up no other record, it is not lost, and it is moved soon after a person has mended what
is in its way, such as max.message.bytes of the topic.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.delays.delayed_record import with_due, without_due
from barnabas.client.delays.levels import level_of
from barnabas.client.delays.waiting_records import DueRecord
from barnabas.client.producer.batch_result import BatchResult
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import BrokerError
from barnabas.records.compression import Compression
from barnabas.records.encode import max_record_size, pack_records
from barnabas.records.message import Message
from barnabas.records.murmur2 import partition_for_key
from barnabas.records.packed import PackedRecords
from barnabas.records.record import Row
from barnabas.wire.errors import ErrorCode

LARGE_BYTES = 900_000
"""Topics with the default max.message.bytes have nothing much larger, unless it is compressed."""

RETRY_S = 3_600

_REFUSED = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
    }
)
"""About a record: it is refused again, while others are not."""

_log = logging.getLogger("barnabas.delays")


class _Refusal(NamedTuple):
    error: BrokerError
    was_alone: bool


class _Write(NamedTuple):
    """One record in a transaction that is not decided."""

    message: Message
    result: BatchResult
    row: int
    """Which one of its batch."""
    is_alone: bool
    kept: _Refusal | None
    """Why it stays, if it does."""


class RecordMoves:
    """Of one mover. `topic` is where its records are due."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._writes: list[_Write] = []
        self._refused: dict[tuple[str, int, int], _Refusal] = {}

    def begin(self) -> None:
        """Of a transaction."""
        self._writes = []

    async def write(self, producer: RecordProducer, move: DueRecord, now_ms: int) -> None:
        """Add a record to the transaction."""
        message, due_ms, level = move
        refusal = self._refused.get(_place(message))
        kept = refusal if refusal is not None and refusal.was_alone else None
        if kept is not None:
            due_ms = now_ms + RETRY_S * 1000
            level = level_of(RETRY_S * 1000)
        if level is None:
            topic, headers = self._topic, without_due(message.headers)
        else:
            topic, headers = message.topic, with_due(message.headers, due_ms)
        row = (now_ms, message.key, message.value, tuple(headers))
        is_alone = refusal is not None or max_record_size(*row[1:]) > LARGE_BYTES
        if is_alone:
            result, at = await _write_alone(producer, topic, level, message, row), 0
        else:
            sent = await producer.send(
                topic,
                message.value,
                key=message.key,
                headers=headers,
                partition=level,
                timestamp_ms=now_ms,
            )
            result, at = sent.batch.result, sent.index
        self._writes.append(_Write(message, result, at, is_alone, kept))

    def rolled_back(self) -> bool:
        """Whether it is known which records were refused, so that another attempt differs."""
        learned = False
        for each in self._writes:
            error = each.result.outcome_of(each.row).error if each.result.done else None
            if isinstance(error, BrokerError) and error.code in _REFUSED and each.kept is None:
                self._refused[_place(each.message)] = _Refusal(error, each.is_alone)
                learned = True
        return learned

    def committed(self) -> None:
        """Forget what has its place now; report what had to stay."""
        for message, result, at, _, kept in self._writes:
            self._refused.pop(_place(message), None)
            if kept is not None:
                _log.error(
                    "a delayed record of %s can't be moved there: %s. It stays in %s, now at "
                    "offset %d of partition %d, and is tried again in an hour",
                    self._topic,
                    kept.error,
                    message.topic,
                    result.outcome_of(at).base_offset,
                    level_of(RETRY_S * 1000),
                )


async def _write_alone(
    producer: RecordProducer, topic: str, partition: int | None, message: Message, row: Row
) -> BatchResult:
    route = await producer.route(topic, partition)
    count = len(route.topic.partitions)
    if partition is None and message.key is None:
        partition = message.offset % count
    elif partition is None:
        partition = partition_for_key(message.key, count)
    return await producer.send_packed(TopicPartition(topic, partition), _packed([row]))


def _packed(rows: Sequence[Row]) -> PackedRecords:
    """Compressed, unless that makes it larger."""
    return min(_both(rows), key=lambda each: each.size)


def _both(rows: Sequence[Row]) -> Iterable[PackedRecords]:
    for compression in (Compression.NONE, Compression.ZSTD):
        yield pack_records(rows, compression=compression)


def _place(message: Message) -> tuple[str, int, int]:
    return message.topic, message.partition, message.offset
