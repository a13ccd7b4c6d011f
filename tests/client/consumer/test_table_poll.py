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

    def __init__(self, *buffer: CompletedFetch) -> None:
        self.buffer = self
        self._fetches = deque(buffer)

    def take(self) -> CompletedFetch | None:
        return self._fetches.popleft() if self._fetches else None


def outbox_of(*buffer: CompletedFetch) -> DeliveryQueue:
    return DeliveryQueue(Fetched(*buffer), CommitMode.AUTO)  # type: ignore[arg-type]


def chunk_of(
    state: FetchState, *batches: bytes | bytearray, start: int, following: int
) -> CompletedFetch:
    return CompletedFetch(state, state.epoch, start, following, b"".join(batches), (), 99)


def batch_of(base_offset: int, count: int, compression: Compression = Compression.NONE) -> bytes:
    rows = [(0, None, b"%d" % (base_offset + i), ()) for i in range(count)]
    return bytes(encode_batch(rows, base_offset=base_offset, compression=compression))


def offsets_taken(delivery_queue: DeliveryQueue) -> list[int]:
    polling = TablePoll(delivery_queue, ["offset"])
    delivery_queue.settle()
    polling.take()
    table = polling.finish()
    offsets: list[int] = table.column("offset").to_pylist()
    return offsets


@pytest.fixture
def state() -> FetchState:
    return FetchState(PLACE, PartitionProgress(2))


def test_batches_of_several_chunks_make_one_table(state: FetchState) -> None:
    delivery_queue = outbox_of(
        chunk_of(state, batch_of(0, 5), batch_of(5, 3), start=2, following=8),
        chunk_of(state, batch_of(8, 2, Compression.ZSTD), start=8, following=10),
    )
    assert offsets_taken(delivery_queue) == list(range(2, 10))
    assert state.progress.reach == (10, 10)
    assert state.progress.finished == 2
    assert offsets_taken(delivery_queue) == []
    assert state.progress.finished == 10


def test_what_was_opened_as_messages_comes_in_the_table(state: FetchState) -> None:
    delivery_queue = outbox_of(
        chunk_of(state, batch_of(0, 5), batch_of(5, 3), start=2, following=8),
    )
    assert [message.offset for message in delivery_queue.take(2)] == [2, 3]
    assert offsets_taken(delivery_queue) == list(range(4, 8))
    assert state.progress.finished == 4
    assert delivery_queue.take(None) == []


def test_messages_go_on_behind_a_table(state: FetchState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.client.consumer.table_poll._ENOUGH_BYTES", 1)
    delivery_queue = outbox_of(
        chunk_of(state, batch_of(0, 5), batch_of(5, 3), start=2, following=8),
    )
    assert offsets_taken(delivery_queue) == [2, 3, 4]
    delivery_queue.settle()
    assert [message.offset for message in delivery_queue.take(None)] == [5, 6, 7]


def test_the_end_of_a_chunk_that_shows_nothing_is_passed_over(state: FetchState) -> None:
    marker = encode_end_marker(
        ControlType.COMMIT,
        timestamp_ms=0,
        producer_id=1,
        producer_epoch=0,
        coordinator_epoch=0,
        base_offset=5,
    )
    delivery_queue = outbox_of(chunk_of(state, batch_of(0, 5), marker, start=2, following=6))
    assert offsets_taken(delivery_queue) == [2, 3, 4]
    assert state.progress.reach == (5, 6)


def test_a_damaged_batch_is_told_after_what_came_before_it(state: FetchState) -> None:
    damaged = bytearray(batch_of(5, 3))
    damaged[-1] ^= 1
    delivery_queue = outbox_of(
        chunk_of(state, batch_of(0, 5), bytes(damaged), start=2, following=8),
    )
    assert offsets_taken(delivery_queue) == [2, 3, 4]
    for _ in range(2):  # until a seek past it
        with pytest.raises(CorruptRecords, match="the batch at offset 5 is damaged"):
            offsets_taken(delivery_queue)
    assert state.progress.position == 5


def test_bytes_that_are_no_batch_are_told(state: FetchState) -> None:
    nothing = b"\x07" * HEADER_SIZE
    delivery_queue = outbox_of(chunk_of(state, batch_of(0, 5), nothing, start=2, following=8))
    assert offsets_taken(delivery_queue) == [2, 3, 4]
    with pytest.raises(CorruptRecords, match="magic"):
        offsets_taken(delivery_queue)


def test_nothing_is_taken_of_what_is_no_longer_read(state: FetchState) -> None:
    delivery_queue = outbox_of(
        chunk_of(state, batch_of(0, 5), batch_of(5, 3), start=2, following=8),
    )
    delivery_queue.take(1)
    state.epoch += 1
    delivery_queue.pending.clear()
    assert offsets_taken(delivery_queue) == []


def test_nothing_is_taken_while_the_core_wants_the_application(state: FetchState) -> None:
    delivery_queue = outbox_of(chunk_of(state, batch_of(0, 5), start=2, following=5))
    delivery_queue.interrupt()
    assert offsets_taken(delivery_queue) == []
    delivery_queue.end_interruption()
    delivery_queue.interrupted = False
    assert offsets_taken(delivery_queue) == [2, 3, 4]
