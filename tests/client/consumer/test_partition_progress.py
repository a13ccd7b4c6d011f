"""What may be committed is the smallest offset that is not done, whatever the order."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.client.consumer.partition_progress import PartitionProgress
from tests.support.tier import examples

# Gaps before each record of a batch, and behind the last one.
batches = st.lists(
    st.tuples(st.lists(st.integers(0, 3), max_size=6), st.integers(0, 2)), min_size=1, max_size=6
)


def as_offsets(offsets: list[int]) -> Sequence[int]:
    if offsets and offsets[-1] - offsets[0] == len(offsets) - 1:
        return range(offsets[0], offsets[-1] + 1)
    return tuple(offsets)


class Book:
    """A ledger, and the truth about it."""

    def __init__(self, start: int) -> None:
        self.progress = PartitionProgress(start)
        self.position = start
        self.open: list[int] = []

    def deliver(self, gaps: list[int], behind: int) -> None:
        offsets = []
        for gap in gaps:
            self.position += gap
            offsets.append(self.position)
            self.position += 1
        last = self.position
        self.position += behind
        if offsets:
            self.progress.track(as_offsets(offsets))
            self.progress.deliver(last, self.position)
        else:
            self.progress.skip_to(self.position)
        self.open += offsets

    @property
    def smallest(self) -> int:
        return min(self.open, default=self.position)


@settings(max_examples=examples(300))
@given(st.integers(0, 5), batches, st.data())
def test_the_smallest_offset_that_is_not_done(
    start: int, batches: list[tuple[list[int], int]], data: st.DataObject
) -> None:
    book = Book(start)
    for gaps, behind in batches:
        book.deliver(gaps, behind)
        for offset in data.draw(st.lists(st.sampled_from(book.open or [0]), unique=True)):
            if offset in book.open:
                book.progress.finish_one(offset)
                book.open.remove(offset)
        if data.draw(st.booleans()):
            assert book.progress.smallest_unfinished() == book.smallest
    book.progress.done.update(book.open)
    assert book.progress.smallest_unfinished() == book.position
    assert not book.progress.done
    assert not book.progress.spans


def test_what_was_not_handed_out_is_not_waited_for() -> None:
    progress = PartitionProgress(0)
    progress.track(range(10))
    progress.deliver(3, 3)  # the application has three of them, and wants to go on at 8
    progress.untrack()
    progress.skip_to(8)
    progress.done.update((0, 2))
    assert progress.smallest_unfinished() == 1
    progress.done.add(1)
    assert progress.smallest_unfinished() == 8


def test_what_is_handed_out_again_is_done_once() -> None:
    progress = PartitionProgress(0)
    progress.track(range(10))
    progress.deliver(10, 10)
    progress.track(range(5, 10))
    progress.done.update(range(10))
    assert progress.smallest_unfinished() == 10


def test_saying_twice_that_one_is_done_leaves_nothing_behind() -> None:
    progress = PartitionProgress(0)
    progress.track(range(3))
    progress.deliver(3, 3)
    for offset in (0, 1, 2):
        progress.finish_one(offset)
    assert progress.smallest_unfinished() == 3
    progress.finish_one(1)
    assert not progress.done


def test_in_order_nothing_has_to_be_tracked() -> None:
    progress = PartitionProgress(5)
    progress.deliver(8, 9)
    assert progress.smallest_unfinished() == 5
    progress.finish(7)
    progress.finish(6)  # old news
    assert progress.smallest_unfinished() == 7
    progress.finish(8)
    assert progress.smallest_unfinished() == 9
