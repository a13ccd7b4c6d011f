"""Tables from what was fetched: damaged batches, and what is between messages and tables."""

from collections import deque

import pytest

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.completed_fetch import CompletedFetch, FetchState
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.consumer.table_poll import TablePoll
from barnabas.errors import CorruptRecords
from barnabas.records.batch import HEADER_SIZE
from barnabas.records.compression import Compression
from barnabas.records.control import ControlType, encode_end_marker
from barnabas.records.encode import encode_batch

PLACE = TopicPartition("t", 0)


class Fetched:
    """Chunks without a fetcher."""

    def __init__(self, *chunks: CompletedFetch) -> None:
        self.chunks = self
        self._chunks = deque(chunks)

    def take(self) -> CompletedFetch | None:
        return self._chunks.popleft() if self._chunks else None


def outbox_of(*chunks: CompletedFetch) -> DeliveryQueue:
    return DeliveryQueue(Fetched(*chunks), CommitMode.AUTO)  # type: ignore[arg-type]


def chunk_of(
    reading: FetchState, *batches: bytes | bytearray, start: int, following: int
) -> CompletedFetch:
    return CompletedFetch(reading, reading.epoch, start, following, b"".join(batches), (), 99)


def batch_of(base_offset: int, count: int, compression: Compression = Compression.NONE) -> bytes:
    rows = [(0, None, b"%d" % (base_offset + i), ()) for i in range(count)]
    return bytes(encode_batch(rows, base_offset=base_offset, compression=compression))


def offsets_taken(outbox: DeliveryQueue) -> list[int]:
    polling = TablePoll(outbox, ["offset"])
    outbox.settle()
    polling.take()
    table = polling.finish()
    offsets: list[int] = table.column("offset").to_pylist()
    return offsets


@pytest.fixture
def reading() -> FetchState:
    return FetchState(PLACE, PartitionProgress(2))


def test_batches_of_several_chunks_make_one_table(reading: FetchState) -> None:
    outbox = outbox_of(
        chunk_of(reading, batch_of(0, 5), batch_of(5, 3), start=2, following=8),
        chunk_of(reading, batch_of(8, 2, Compression.ZSTD), start=8, following=10),
    )
    assert offsets_taken(outbox) == list(range(2, 10))
    assert reading.ledger.reach == (10, 10)
    assert reading.ledger.finished == 2
    assert offsets_taken(outbox) == []
    assert reading.ledger.finished == 10


def test_what_was_opened_as_messages_comes_in_the_table(reading: FetchState) -> None:
    outbox = outbox_of(
        chunk_of(reading, batch_of(0, 5), batch_of(5, 3), start=2, following=8),
    )
    assert [message.offset for message in outbox.take(2)] == [2, 3]
    assert offsets_taken(outbox) == list(range(4, 8))
    assert reading.ledger.finished == 4
    assert outbox.take(None) == []


def test_messages_go_on_behind_a_table(
    reading: FetchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.client.consumer.table_poll._ENOUGH_BYTES", 1)
    outbox = outbox_of(
        chunk_of(reading, batch_of(0, 5), batch_of(5, 3), start=2, following=8),
    )
    assert offsets_taken(outbox) == [2, 3, 4]
    outbox.settle()
    assert [message.offset for message in outbox.take(None)] == [5, 6, 7]


def test_the_end_of_a_chunk_that_shows_nothing_is_passed_over(reading: FetchState) -> None:
    marker = encode_end_marker(
        ControlType.COMMIT,
        timestamp_ms=0,
        producer_id=1,
        producer_epoch=0,
        coordinator_epoch=0,
        base_offset=5,
    )
    outbox = outbox_of(chunk_of(reading, batch_of(0, 5), marker, start=2, following=6))
    assert offsets_taken(outbox) == [2, 3, 4]
    assert reading.ledger.reach == (5, 6)


def test_a_damaged_batch_is_told_after_what_came_before_it(reading: FetchState) -> None:
    damaged = bytearray(batch_of(5, 3))
    damaged[-1] ^= 1
    outbox = outbox_of(
        chunk_of(reading, batch_of(0, 5), bytes(damaged), start=2, following=8),
    )
    assert offsets_taken(outbox) == [2, 3, 4]
    for _ in range(2):  # until somebody seeks behind it
        with pytest.raises(CorruptRecords, match="the batch at offset 5 is damaged"):
            offsets_taken(outbox)
    assert reading.ledger.position == 5


def test_bytes_that_are_no_batch_are_told(reading: FetchState) -> None:
    nothing = b"\x07" * HEADER_SIZE
    outbox = outbox_of(chunk_of(reading, batch_of(0, 5), nothing, start=2, following=8))
    assert offsets_taken(outbox) == [2, 3, 4]
    with pytest.raises(CorruptRecords, match="magic"):
        offsets_taken(outbox)


def test_nothing_is_taken_of_what_is_no_longer_read(reading: FetchState) -> None:
    outbox = outbox_of(
        chunk_of(reading, batch_of(0, 5), batch_of(5, 3), start=2, following=8),
    )
    outbox.take(1)
    reading.epoch += 1
    outbox.pending.clear()
    assert offsets_taken(outbox) == []


def test_nothing_is_taken_while_the_core_wants_the_application(reading: FetchState) -> None:
    outbox = outbox_of(chunk_of(reading, batch_of(0, 5), start=2, following=5))
    outbox.cut()
    assert offsets_taken(outbox) == []
    outbox.mend()
    outbox.wanted = False
    assert offsets_taken(outbox) == [2, 3, 4]
