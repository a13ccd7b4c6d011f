"""The delivery queue alone: what it delivers, what counts as done, and interruptions."""

import pytest

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.completed_fetch import CompletedFetch, FetchState
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetch_buffer import FetchBuffer
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.errors import UndecodableRecord
from tests.client.fake_cluster import FakeLog

LIMIT = 1 << 20


class Source:
    """Two partitions whose completed fetches are there already."""

    def __init__(self) -> None:
        self.buffer = FetchBuffer(LIMIT)
        self.states = [FetchState(TopicPartition("t", n), PartitionProgress(0)) for n in (0, 1)]

    def fetched(self, partition: int, first: int, end: int) -> None:
        state = self.states[partition]
        data = FakeLog(0, end, batch=end - first).read(first)
        self.buffer.append(CompletedFetch(state, state.epoch, first, end, data, (), end))

    def progress(self, partition: int) -> PartitionProgress:
        return self.states[partition].progress


@pytest.fixture
def source() -> Source:
    return Source()


def queue_of(source: Source, mode: CommitMode = CommitMode.AUTO) -> DeliveryQueue:
    return DeliveryQueue(source, mode)  # type: ignore[arg-type]


def offsets(queue: DeliveryQueue, max_records: int | None = None) -> list[tuple[int, int]]:
    return [(message.partition, message.offset) for message in queue.take(max_records)]


def test_fetches_are_delivered_in_the_order_in_which_they_came(source: Source) -> None:
    source.fetched(1, 0, 2)
    source.fetched(0, 0, 1)
    source.fetched(1, 2, 3)
    queue = queue_of(source)
    assert offsets(queue, 2) == [(1, 0), (1, 1)]
    assert offsets(queue) == [(0, 0), (1, 2)]
    assert offsets(queue) == []
    assert [source.progress(n).position for n in (0, 1)] == [1, 3]


def test_a_list_is_done_when_the_next_one_is_asked_for(source: Source) -> None:
    source.fetched(0, 0, 4)
    queue = queue_of(source)
    offsets(queue, 3)
    assert source.progress(0).smallest_unfinished() == 0
    queue.settle()
    assert source.progress(0).smallest_unfinished() == 3


def test_a_single_message_is_done_when_the_next_one_is_asked_for(source: Source) -> None:
    source.fetched(0, 0, 3)
    queue = queue_of(source)
    assert queue.refill()
    for message in queue.rest:
        queue.current = message
        if message.offset == 1:
            break
    assert queue.at_work_on(source.progress(0)) == message
    queue.settle()
    assert source.progress(0).smallest_unfinished() == 2
    assert queue.at_work_on(source.progress(0)) is None


def test_an_interruption_ends_the_iteration_and_nothing_is_delivered_until_it_is_over(
    source: Source,
) -> None:
    source.fetched(0, 0, 5)
    source.fetched(1, 0, 5)
    queue = queue_of(source)
    assert queue.refill()
    seen = []
    for message in queue.rest:
        queue.current = message
        seen.append(message.offset)
        if message.offset == 1:
            queue.interrupt()
    assert seen == [0, 1]
    queue.settle()
    assert not queue.refill()
    assert offsets(queue) == []
    assert source.progress(0).position == 2  # what was not delivered is fetched again from here
    queue.end_interruption()
    queue.interrupted = False
    assert offsets(queue) == [(1, n) for n in range(5)]


def test_what_was_decoded_of_a_dropped_partition_is_not_delivered(source: Source) -> None:
    source.fetched(0, 0, 5)
    source.fetched(1, 0, 2)
    queue = queue_of(source, CommitMode.DONE)
    assert offsets(queue, 2) == [(0, 0), (0, 1)]
    queue.drop(source.progress(0))
    source.states[0].epoch += 1
    assert offsets(queue) == [(1, 0), (1, 1)]
    for offset in (0, 1):
        source.progress(0).finish_one(offset)
    assert source.progress(0).smallest_unfinished() == 2


def test_fetches_from_before_a_seek_are_passed_over(source: Source) -> None:
    source.fetched(0, 0, 5)
    source.states[0].epoch += 1
    source.fetched(0, 3, 5)
    assert offsets(queue_of(source)) == [(0, 3), (0, 4)]


def test_a_record_that_cannot_be_decoded_stays_where_it_is(source: Source) -> None:
    def decode(value: bytes | None) -> int:
        if value == b"2":
            raise ValueError("two is not allowed")
        return int(value or b"")

    source.fetched(0, 0, 5)
    queue = queue_of(source)
    queue.decode_value = decode
    assert offsets(queue) == [(0, 0), (0, 1)]
    for _ in range(2):
        with pytest.raises(UndecodableRecord):
            queue.take(None)
    assert source.progress(0).position == 2
    queue.decode_value = None
    assert offsets(queue) == [(0, 2), (0, 3), (0, 4)]
