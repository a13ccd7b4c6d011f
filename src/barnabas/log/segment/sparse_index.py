"""The two sparse indexes of a segment, on disk as Kafka lays them out, big-endian:

    .index      relative_offset int32, position int32       first offset of a batch, where it starts
    .timeindex  timestamp int64, relative_offset int32      largest timestamp so far, and the first
                                                            offset of the batch that brought it

Both columns of both files only ever grow, so either column can be searched. Offsets are relative
to the segment's base offset.

New entries are collected in a small tail in memory, which is spilled to the file from time to time;
older entries are found by bisecting the file, which stays in the page cache. So an index of any
size takes a bounded amount of memory, and none at rest.

An index is only a shortcut into the log. Failing to write it fails nothing (the tail stays in
memory), and a reader that follows an entry checks that a batch is really there.
"""

from array import array
from bisect import bisect_right
from contextlib import suppress
from operator import itemgetter
from struct import Struct

from barnabas.log.segment.open_files import Handle

OFFSET_ENTRY = Struct(">ii")
TIME_ENTRY = Struct(">qi")

_SPILL_ENTRIES = 8 * 1024
_BLOCK_ENTRIES = 512


class SparseIndex:
    """Fixed-size entries of two growing columns."""

    __slots__ = ("_columns", "_entry", "handle", "spilled")

    def __init__(self, handle: Handle, entry: Struct, spilled: int = 0) -> None:
        self.handle = handle
        self.spilled = spilled
        """Entries in the file."""
        self._entry = entry
        self._columns = (array("q"), array("q"))
        """The tail, by column, as it is searched."""

    @property
    def is_spilled(self) -> bool:
        return not self._columns[0]

    def add(self, first: int, second: int) -> None:
        firsts, seconds = self._columns
        firsts.append(first)
        seconds.append(second)
        if len(firsts) >= _SPILL_ENTRIES:
            self.spill()

    def spill(self) -> bool:
        """Move the tail to the file. False if the disk refused: then the tail stays."""
        if self.is_spilled:
            return True
        pack = self._entry.pack
        tail = b"".join(pack(first, second) for first, second in zip(*self._columns, strict=True))
        try:
            file = self.handle.create()
            if self.spilled == 0:
                file.truncate(0)  # an existing file can only have void entries
            file.write(tail, self.spilled * self._entry.size)
        except OSError:
            return False
        self.spilled += len(self._columns[0])
        self._forget_tail()
        return True

    def clear(self) -> None:
        """Forget every entry; the file's content is overwritten by the next spill."""
        self.spilled = 0
        self._forget_tail()

    def void(self) -> None:
        """Forget every entry, also in the file. Raises OSError."""
        self.clear()
        with suppress(FileNotFoundError):
            self.handle.file().truncate(0)

    def _forget_tail(self) -> None:
        for column in self._columns:
            del column[:]

    def last(self) -> tuple[int, int] | None:
        if not self.is_spilled:
            return self._columns[0][-1], self._columns[1][-1]
        if self.spilled:
            return self._read(self.spilled - 1)
        return None

    def floor(self, column: int, target: int) -> tuple[int, int] | None:
        """The last entry whose `column` is at most `target`."""
        found = bisect_right(self._columns[column], target) - 1
        if found >= 0:
            return self._columns[0][found], self._columns[1][found]
        low, high = 0, self.spilled
        while high - low > _BLOCK_ENTRIES:
            middle = (low + high) // 2
            if self._read(middle)[column] <= target:
                low = middle
            else:
                high = middle
        if low == high:
            return None
        size = self._entry.size
        block = self.handle.file().read((high - low) * size, low * size)
        entries = list(self._entry.iter_unpack(block[: len(block) // size * size]))
        found = bisect_right(entries, target, key=itemgetter(column)) - 1
        return None if found < 0 else (entries[found][0], entries[found][1])

    def _read(self, number: int) -> tuple[int, int]:
        size = self._entry.size
        data = self.handle.file().read(size, number * size)
        if len(data) < size:
            raise OSError(f"{self.handle.path} is shorter than it was")
        first, second = self._entry.unpack(data)
        return first, second
