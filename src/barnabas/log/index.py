"""The two sparse indexes of a segment, on disk as Kafka lays them out, big-endian:

    .index      relative_offset int32, position int32       first offset of a batch, where it starts
    .timeindex  timestamp int64, relative_offset int32      largest timestamp so far, and the first
                                                            offset of the batch that brought it

Both columns of both files only ever grow, so either column can be searched. Offsets are relative
to the segment's base offset.

Entries of the segment being written gather in a small tail in memory, which is spilled to the file
now and then; older entries are found by bisecting the file, which stays in the page cache. So an
index of any size takes a bounded amount of memory, and none at rest.

An index is only a shortcut into the log. Failing to write it fails nothing (the tail stays in
memory), and whoever follows an entry checks that a batch is really there.
"""

from bisect import bisect_right
from struct import Struct
from typing import Any

from barnabas.log.handles import Handle

OFFSET_ENTRY = Struct(">ii")
TIME_ENTRY = Struct(">qi")

_SPILL_BYTES = 64 * 1024
_BLOCK_ENTRIES = 512


class SparseIndex:
    """Fixed-size entries of two growing columns."""

    __slots__ = ("_entry", "_tail", "handle", "spilled")

    def __init__(self, handle: Handle, entry: Struct, spilled: int = 0) -> None:
        self.handle = handle
        self.spilled = spilled
        """Entries in the file."""
        self._entry = entry
        self._tail = bytearray()

    @property
    def is_spilled(self) -> bool:
        return not self._tail

    def add(self, first: int, second: int) -> None:
        self._tail += self._entry.pack(first, second)
        if len(self._tail) >= _SPILL_BYTES:
            self.spill()

    def spill(self) -> bool:
        """Move the tail to the file. False if the disk refused; nothing is lost by that."""
        if self._tail:
            try:
                file = self.handle.create()
                if self.spilled == 0:
                    file.truncate(0)  # a file of that name can only hold entries that are void
                file.write(self._tail, self.spilled * self._entry.size)
            except OSError:
                return False
            self.spilled += len(self._tail) // self._entry.size
            self._tail.clear()
        return True

    def clear(self) -> None:
        """Forget every entry; the file's content is overwritten by the next spill."""
        self.spilled = 0
        self._tail.clear()

    def last(self) -> tuple[int, int] | None:
        if self._tail:
            return self._unpack(self._tail, len(self._tail) - self._entry.size)
        if self.spilled:
            return self._read(self.spilled - 1)
        return None

    def floor(self, column: int, target: int) -> tuple[int, int] | None:
        """The last entry whose `column` is at most `target`."""
        tail = self._tail
        if tail and self._unpack(tail, 0)[column] <= target:
            return self._floor_in(tail, column, target)
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
        return self._floor_in(block, column, target)

    def _floor_in(
        self, entries: bytes | bytearray, column: int, target: int
    ) -> tuple[int, int] | None:
        size, unpack = self._entry.size, self._entry.unpack_from

        def value(number: int) -> Any:
            return unpack(entries, number * size)[column]

        found = bisect_right(range(len(entries) // size), target, key=value) - 1
        return None if found < 0 else self._unpack(entries, found * size)

    def _read(self, number: int) -> tuple[int, int]:
        size = self._entry.size
        data = self.handle.file().read(size, number * size)
        if len(data) < size:
            raise OSError(f"{self.handle.path} is shorter than it was")
        return self._unpack(data, 0)

    def _unpack(self, entries: bytes | bytearray, at: int) -> tuple[int, int]:
        first, second = self._entry.unpack_from(entries, at)
        return first, second
