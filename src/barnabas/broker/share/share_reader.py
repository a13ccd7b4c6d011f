"""Reads the log for a share group, and acquires what was read.

Records are sent in the batches of the log, still compressed. What is read but not acquired is left
out, batch by batch; a large batch of which few records are acquired is cut, unless it is
compressed. Control records are archived here, and, for a group that is read_committed, the
records of aborted transactions: a consumer of a share group can't filter them itself.
"""

from collections.abc import Container, Iterator
from typing import NamedTuple

from barnabas.broker.fetch.aborted_transactions import aborted_among
from barnabas.broker.share.led_share_partition import LedSharePartition
from barnabas.log import Log, OffsetOutOfRange, RecordsLost, StorageError
from barnabas.records.batch import BatchHeader, Buffer
from barnabas.records.control import ControlType, parse_control_record
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.errors import CorruptBatch, RecordsError
from barnabas.share.acquisition import AcquiredRange, LogBatch
from barnabas.wire.errors import ErrorCode

_LEAST_BYTES = 16 << 10
_MARGIN = 1.5
"""How much more is read than what the wanted records are expected to take."""
_MOST_READS = 20
"""Reads for one fetch, if all that is found is archived."""
_LEAST_CUT_BYTES = 2 << 10
"""Less is not worth cutting off."""


class Wanted(NamedTuple):
    """What one consumer may still get with this fetch."""

    member_id: str
    max_bytes: int
    max_records: int
    batch_size: int
    is_record_limit: bool


class Acquisition(NamedTuple):
    records: Buffer
    ranges: list[AcquiredRange]


_NOTHING = Acquisition(memoryview(b""), [])


def read_and_acquire(
    led: LedSharePartition, wanted: Wanted, *, min_one: bool
) -> Acquisition | ErrorCode:
    """Records for a consumer, locked for it; none if there are none. At most `max_bytes`, but with
    `min_one` always one batch."""
    try:
        for _ in range(_MOST_READS):
            found = _read_once(led, wanted, min_one=min_one)
            if found is not None:
                return found
    except OffsetOutOfRange:
        return _NOTHING  # the log start has moved meanwhile; the next fetch knows it
    except RecordsLost:
        return ErrorCode.CORRUPT_MESSAGE
    except (StorageError, RecordsError) as error:
        led.partition.log_read_error(error)
        return ErrorCode.KAFKA_STORAGE_ERROR
    return _NOTHING


def _read_once(led: LedSharePartition, wanted: Wanted, *, min_one: bool) -> Acquisition | None:
    """None if everything that was found was archived: there may be more behind it."""
    state = led.state
    assert state is not None
    settings = led.settings()
    log = led.partition.log
    state.log_start_moved(log.log_start_offset)
    offset = state.next_fetch_offset(settings.limits)
    end_offset = led.end_offset(settings)
    if offset is None or offset >= end_offset or (wanted.max_bytes <= 0 and not min_one):
        return _NOTHING
    # No more can be locked, and each batch that is read costs time.
    records = min(wanted.max_records, settings.limits.max_record_locks)
    expected = int(records * led.bytes_per_record * _MARGIN)
    data = log.reader.read(
        offset,
        min(wanted.max_bytes, max(_LEAST_BYTES, expected)),
        upto_offset=end_offset,
        min_one=min_one,
    )
    aborted = _aborted_batches(log, offset, data) if settings.is_read_committed else frozenset()
    seen: list[tuple[BatchHeader, memoryview]] = []
    ranges = state.acquire(
        wanted.member_id,
        offset,
        _log_batches(data, aborted, seen),
        settings.limits,
        max_records=wanted.max_records,
        batch_size=wanted.batch_size,
        is_record_limit=wanted.is_record_limit,
        now_ms=led.now_ms(),
    )
    if not seen:
        return _NOTHING
    if not ranges:
        return None if state.next_fetch_offset(settings.limits) != offset else _NOTHING
    count = seen[-1][0].next_offset - seen[0][0].base_offset
    led.bytes_per_record = sum(len(batch) for _, batch in seen) / max(1, count)
    led.changed()
    part = _part(led, seen, ranges[0].first, ranges[-1].last)
    led.partition.bytes_out += len(part)
    return Acquisition(part, ranges)


def _log_batches(
    data: memoryview, aborted: Container[int], seen: list[tuple[BatchHeader, memoryview]]
) -> Iterator[LogBatch]:
    """The batches of what was read, as far as they are asked for; `seen` gets them."""
    for header, batch in iter_batches(data):
        seen.append((header, batch))
        yield LogBatch(
            header.base_offset,
            header.last_offset,
            not header.is_control and header.base_offset not in aborted,
        )


def _part(
    led: LedSharePartition, seen: list[tuple[BatchHeader, memoryview]], first: int, last: int
) -> Buffer:
    """The batches that have offsets from `first` to `last`, cut if most of them is outside."""
    chosen = [
        (header, batch)
        for header, batch in seen
        if header.last_offset >= first and header.base_offset <= last
    ]
    parts: list[Buffer] = [batch for _, batch in chosen]
    before = first - chosen[0][0].base_offset
    after = chosen[-1][0].last_offset - last
    if (before + after) * led.bytes_per_record >= max(_LEAST_CUT_BYTES, sum(map(len, parts)) // 2):
        for at in {0, len(chosen) - 1}:
            parts[at] = led.cut(*chosen[at], first, last) or parts[at]
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _aborted_batches(log: Log, offset: int, data: memoryview) -> frozenset[int]:
    """The base offsets of batches whose transaction was aborted."""
    transactions = sorted(aborted_among(log, offset, data), key=lambda each: each.first_offset)
    if not transactions:
        return frozenset()
    aborting: set[int] = set()
    found: set[int] = set()
    for header, batch in iter_batches(data):
        while transactions and transactions[0].first_offset <= header.last_offset:
            aborting.add(transactions.pop(0).producer_id)
        if header.is_control:
            if _is_abort(batch):
                aborting.discard(header.producer_id)
        elif header.is_transactional and header.producer_id in aborting:
            found.add(header.base_offset)
    return frozenset(found)


def _is_abort(batch: memoryview) -> bool:
    for record in decode_batch(batch):
        try:
            return parse_control_record(record).type == ControlType.ABORT
        except CorruptBatch:
            return False
    return False
