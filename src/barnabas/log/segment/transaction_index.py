"""`.txnindex`: the transactions whose abort marker stands in a segment, as Kafka lays it out.

    version              int16   0
    producer_id          int64
    first_offset         int64   of the transaction's first batch, perhaps in an earlier segment
    last_offset          int64   of the marker
    last_stable_offset   int64   when the marker was there: transactions before that were ended

Entries are in the order of their markers, so `last_offset` grows, and `last_stable_offset` never
falls. New ones are collected in memory, and spilled to the file from time to time, at the latest
when the segment is finished or the log is closed. The batches have all that a crash takes from the
index: an index that is not trusted `is_lost` until `SnapshotFiles.load` has built it again.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import attrgetter
from struct import Struct
from typing import NamedTuple

from barnabas.log.segment.open_files import Handle

_ENTRY = Struct(">hqqqq")
ENTRY_SIZE = _ENTRY.size
_VERSION = 0
_SPILL_ENTRIES = 1024
_BLOCK_ENTRIES = 512
_last_offset = attrgetter("last_offset")


class AbortedTransaction(NamedTuple):
    """A transaction whose records a `read_committed` consumer has to skip."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The aborted transactions of one segment."""

    __slots__ = ("_tail", "handle", "is_lost", "spilled")

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.spilled = 0
        """Valid entries in the file; the rest of it is void."""
        self.is_lost = False
        """The entries have to be restored from the batches."""
        self._tail: list[AbortedTransaction] = []

    def __bool__(self) -> bool:
        return bool(self.spilled or self._tail)

    def __iter__(self) -> Iterator[AbortedTransaction]:
        """Every entry. May raise OSError."""
        yield from self._from_file(0)
        yield from self._tail

    @property
    def is_spilled(self) -> bool:
        return not self._tail and not self.is_lost

    def add(self, transaction: AbortedTransaction) -> None:
        self._tail.append(transaction)
        if len(self._tail) >= _SPILL_ENTRIES:
            self.spill()

    def spill(self) -> bool:
        """Move the tail to the file. False if the disk refused: then the tail stays."""
        if not self._tail:
            return True
        tail = b"".join(_ENTRY.pack(_VERSION, *entry) for entry in self._tail)
        try:
            file = self.handle.create()
            file.truncate(self.spilled * ENTRY_SIZE)
            file.write(tail, self.spilled * ENTRY_SIZE)
        except OSError:
            return False
        self.spilled += len(self._tail)
        self._tail.clear()
        return True

    def lose(self) -> None:
        """Forget every entry until the batches are replayed."""
        self.spilled = 0
        self._tail.clear()
        self.is_lost = True

    def fits(self, base_offset: int, next_offset: int) -> bool:
        """Whether this can be the index of a segment with these offsets. May raise OSError."""
        previous = base_offset - 1
        for entry in self:
            in_order = previous < entry.last_offset < next_offset
            if not in_order or not 0 <= entry.first_offset < entry.last_offset:
                return False
            previous = entry.last_offset
        return True

    def truncate_from(self, offset: int) -> None:
        """Forget what ended at `offset` or behind. May raise OSError."""
        if self.is_lost:
            return
        kept = bisect_left(self._tail, offset, key=_last_offset)
        del self._tail[kept:]
        if not kept:
            self.spilled = self._first_spilled(offset)

    def between(self, offset: int, end_offset: int, found: list[AbortedTransaction]) -> bool:
        """Add to `found` those that touch [offset, end_offset). True if later ones cannot.

        May raise OSError.
        """
        start = self._first_spilled(offset)
        tail = self._tail[bisect_left(self._tail, offset, key=_last_offset) :]
        return _take(chain(self._from_file(start), tail), end_offset, found)

    def _first_spilled(self, offset: int) -> int:
        """The number of the first entry in the file that ended at `offset` or behind."""
        low, high = 0, self.spilled
        while low < high:
            middle = (low + high) // 2
            if self._read(middle, 1)[0].last_offset < offset:
                low = middle + 1
            else:
                high = middle
        return low

    def _from_file(self, number: int) -> Iterator[AbortedTransaction]:
        while number < self.spilled:
            block = self._read(number, min(_BLOCK_ENTRIES, self.spilled - number))
            yield from block
            number += len(block)

    def _read(self, number: int, count: int) -> list[AbortedTransaction]:
        data = self.handle.file().read(count * ENTRY_SIZE, number * ENTRY_SIZE)
        if len(data) < count * ENTRY_SIZE:
            raise OSError(f"{self.handle.path} is shorter than it was")
        return [AbortedTransaction(*fields) for _, *fields in _ENTRY.iter_unpack(data)]


def _take(
    entries: Iterable[AbortedTransaction], end_offset: int, found: list[AbortedTransaction]
) -> bool:
    for entry in entries:
        if entry.first_offset < end_offset:
            found.append(entry)
        if entry.last_stable_offset >= end_offset:
            return True
    return False
