"""The records from a share partition's start offset to the next one, as batches without gaps.

Everything before the window is done with, everything behind it was never acquired. A batch with a
final state at the front leaves the window; one in the middle is merged with its neighbours. So the
window has at most two batches for each record that is not done with, however far it reaches.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter

from barnabas.share.in_flight_batch import InFlightBatch
from barnabas.share.record_state import RecordState

_FIRST = attrgetter("first")


class InFlightWindow:
    __slots__ = ("_available_from", "batches", "next_offset", "open_count", "start_offset")

    def __init__(self, start_offset: int) -> None:
        self.start_offset = start_offset
        self.next_offset = start_offset
        self.batches: list[InFlightBatch] = []
        self.open_count = 0
        """Records in the window that are not in a final state."""
        self._available_from = start_offset
        """No record before this offset is available."""

    # -- reading -----------------------------------------------------------------------------------

    def index_of(self, offset: int) -> int:
        """The index of the batch that has the offset, which is in the window."""
        return bisect_right(self.batches, offset, key=_FIRST) - 1

    def overlapping(self, first: int, last: int) -> Iterator[InFlightBatch]:
        """The batches with any offset from `first` to `last`; the window must not change."""
        batches = self.batches
        if first > last or last < self.start_offset or first >= self.next_offset:
            return
        at = self.index_of(max(first, self.start_offset))
        while at < len(batches) and batches[at].first <= last:
            yield batches[at]
            at += 1

    def first_available(self) -> InFlightBatch | None:
        offset = max(self._available_from, self.start_offset)
        if offset < self.next_offset:
            batches = self.batches
            for at in range(self.index_of(offset), len(batches)):
                if batches[at].is_available:
                    self._available_from = batches[at].first
                    return batches[at]
        self._available_from = self.next_offset
        return None

    # -- changing ----------------------------------------------------------------------------------

    def append(self, batch: InFlightBatch) -> None:
        """Add what was never in the window, at its end."""
        assert batch.first == self.next_offset
        self.batches.append(batch)
        self.next_offset = batch.last + 1
        if not batch.state.is_terminal:
            self.open_count += len(batch)
            if batch.is_available:
                self.available(batch.first)

    def available(self, offset: int) -> None:
        """A record at this offset is available again."""
        self._available_from = min(self._available_from, offset)

    def cut(self, first: int, last: int) -> list[InFlightBatch]:
        """The batches from `first` to `last`, split so that they hold exactly these offsets; what
        is outside of the window is left out."""
        first = max(first, self.start_offset)
        last = min(last, self.next_offset - 1)
        if first > last:
            return []
        begin = self._boundary(first)
        end = self._boundary(last + 1)
        return self.batches[begin:end]

    def _boundary(self, offset: int) -> int:
        """The index of the batch that begins at `offset`, after a split if need be."""
        batches = self.batches
        if offset >= self.next_offset:
            return len(batches)
        at = self.index_of(offset)
        batch = batches[at]
        if batch.first == offset:
            return at
        batches.insert(at + 1, batch.split(offset))
        return at + 1

    def free(self, batch: InFlightBatch, state: RecordState) -> None:
        """Take a batch from its member, into `state`."""
        if state.is_terminal and not batch.state.is_terminal:
            self.open_count -= len(batch)
        batch.free(state)
        if batch.is_available:
            self.available(batch.first)

    def merge(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Merge equal neighbours in and around each range."""
        batches = self.batches
        for first, last in ranges:
            if last < self.start_offset or first >= self.next_offset:
                continue
            at = max(0, self.index_of(max(first, self.start_offset)) - 1)
            while at + 1 < len(batches) and batches[at].first <= last:
                batch, following = batches[at], batches[at + 1]
                if batch.is_like(following):
                    batch.last = following.last
                    batch.size_acquired = max(
                        len(batch), batch.size_acquired, following.size_acquired
                    )
                    del batches[at + 1]
                else:
                    at += 1

    def advance(self) -> None:
        """Let the batches in front that are done with leave the window."""
        done = 0
        for batch in self.batches:
            if not batch.state.is_terminal:
                break
            self.start_offset = batch.last + 1
            done += 1
        if done:
            del self.batches[:done]

    def advance_to(self, offset: int) -> None:
        """Let everything before `offset` leave the window, whatever its state is."""
        if offset <= self.start_offset:
            return
        if offset < self.next_offset:
            end = self._boundary(offset)
        else:
            end = len(self.batches)
            self.next_offset = offset
        for batch in self.batches[:end]:
            if not batch.state.is_terminal:
                self.open_count -= len(batch)
        del self.batches[:end]
        self.start_offset = offset
        self.advance()
