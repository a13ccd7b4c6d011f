"""One segment: a run of record batches in one file, with its two sparse indexes.

    00000000000000000000.log        whole batches, back to back, exactly as they are sent
    00000000000000000000.index      see `index`
    00000000000000000000.timeindex
    00000000000000000000.txnindex   see `transaction_index`; only where a transaction was aborted

The name is the base offset. Batches are in the order of their offsets; between two batches offsets
may be missing (compaction removes them). A segment knows its own size: bytes of the file beyond
`size` are left from a failed append, and are never read.
"""

from collections.abc import Iterator
from struct import Struct

from barnabas.log.config import LogConfig
from barnabas.log.errors import BatchDamaged, StorageError
from barnabas.log.file_copy import rewrite
from barnabas.log.segment.file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_path,
)
from barnabas.log.segment.open_files import Handle, OpenFiles
from barnabas.log.segment.sparse_index import OFFSET_ENTRY, TIME_ENTRY, SparseIndex
from barnabas.log.segment.transaction_index import ENTRY_SIZE, TransactionIndex
from barnabas.records.batch import (
    HEADER_SIZE,
    LENGTH_PREFIX,
    BatchHeader,
    batch_size,
    parse_header,
)
from barnabas.records.record import NO_TIMESTAMP

_MAX_INT32 = 2**31 - 1  # offsets and positions of an index entry
MAX_OFFSETS = _MAX_INT32
"""The largest difference between the offsets of one segment."""
_HOP_CHUNK = 16 * 1024
_MAX_HINTS = 64
_EMPTY = memoryview(b"")
_base_offset_at = Struct(">q").unpack_from


class Segment:
    """A run of batches from `base_offset` up to, not including, `next_offset`."""

    __slots__ = (
        "_hints",
        "_index_interval_bytes",
        "_unindexed_bytes",
        "aborted",
        "base_offset",
        "checked_upto",
        "created_ms",
        "first_timestamp",
        "log",
        "max_timestamp",
        "max_timestamp_offset",
        "next_offset",
        "offsets",
        "size",
        "times",
        "unchecked_upto",
    )

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        base_offset: int,
        index_interval_bytes: int,
        created_ms: int,
        extra_suffix: str = "",
    ) -> None:
        self.base_offset = base_offset
        self.created_ms = created_ms
        """When this object was made: the age of a segment whose batches have no timestamps."""
        self.next_offset = base_offset
        self.size = 0
        self.first_timestamp = -1
        """Of the first batch; -1 when it is not known (yet)."""
        self.max_timestamp = -1
        self.max_timestamp_offset = base_offset
        """Base offset of the first batch that has the max timestamp."""
        self.checked_upto = base_offset
        """Batches below this offset were checked."""
        self.unchecked_upto = 0
        """Batches below this offset, but for those, are checked when they are read; see
        `read_check`."""
        stem = segment_path(directory, base_offset, "")
        self.log = Handle(files, f"{stem}{LOG_SUFFIX}{extra_suffix}")
        self.offsets = SparseIndex(
            Handle(files, f"{stem}{INDEX_SUFFIX}{extra_suffix}"), OFFSET_ENTRY
        )
        self.times = SparseIndex(
            Handle(files, f"{stem}{TIME_INDEX_SUFFIX}{extra_suffix}"), TIME_ENTRY
        )
        self.aborted = TransactionIndex(
            Handle(files, f"{stem}{TRANSACTION_INDEX_SUFFIX}{extra_suffix}")
        )
        self._index_interval_bytes = index_interval_bytes
        self._unindexed_bytes = 0
        # Where recent reads ended: the next read of the same consumer begins there, so a consumer
        # that follows along needs no search.
        self._hints: dict[int, int] = {}

    def check_on_read(self) -> None:
        """What is in the segment now was not checked since this process began."""
        self.unchecked_upto = self.next_offset

    def checked(self, offset: int, next_offset: int) -> None:
        """The batches from `offset` up to `next_offset` are as they were appended."""
        if offset <= self.checked_upto < next_offset:
            self.checked_upto = next_offset
            if next_offset >= self.unchecked_upto:
                self.unchecked_upto = 0

    def paths(self) -> tuple[str, str, str, str]:
        indexes = self.offsets.handle.path, self.times.handle.path, self.aborted.handle.path
        return self.log.path, *indexes

    def note(self, position: int, header: BatchHeader, base_offset: int, timestamp: int) -> None:
        """Update offsets, size, timestamps and indexes for a batch at `position`."""
        if timestamp == 0 and header.base_timestamp == NO_TIMESTAMP:
            # librdkafka sends 0 for records without timestamps; earlier releases stored that.
            timestamp = NO_TIMESTAMP
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.max_timestamp_offset = base_offset
        if position == 0:
            self.first_timestamp = timestamp
        size = header.batch_length + LENGTH_PREFIX
        if self._unindexed_bytes > self._index_interval_bytes:
            self.offsets.add(base_offset - self.base_offset, position)
            self._add_time_entry()
            self._unindexed_bytes = 0
        self._unindexed_bytes += size
        self.size = position + size
        self.next_offset = base_offset + header.last_offset_delta + 1

    def _add_time_entry(self) -> None:
        last = self.times.last()
        if last is None or last[0] < self.max_timestamp:
            self.times.add(self.max_timestamp, self.max_timestamp_offset - self.base_offset)

    def must_roll(self, size: int, timestamp: int, config: LogConfig, now_ms: int) -> bool:
        """Whether `size` more bytes, the newest record of this time, belong in a new segment.

        The age of a segment is the time between its first record and the new one, so that old
        records do not all end up in one segment when a topic is filled again.
        """
        if self.size == 0:
            return False
        if self.size + size > min(config.segment_bytes, _MAX_INT32):
            return True
        if self.next_offset - self.base_offset > _MAX_INT32:
            return True
        if self.first_timestamp > 0 and timestamp > 0:  # 0 means that there is none
            return timestamp - self.first_timestamp > config.segment_ms
        return now_ms - self.created_ms > config.segment_ms

    def reaches(self, next_offset: int) -> bool:
        """Whether a batch that ends there can be in this segment."""
        return next_offset - self.base_offset <= MAX_OFFSETS

    def spill_indexes(self) -> bool:
        """Write the indexes to their files. False if the disk refused."""
        return self.offsets.spill() and self.times.spill() and self.aborted.spill()

    @property
    def has_spilled_indexes(self) -> bool:
        return self.offsets.is_spilled and self.times.is_spilled and self.aborted.is_spilled

    def rebuild_indexes(self) -> None:
        """Build the two sparse indexes again from the batches' headers."""
        size, next_offset = self.size, self.next_offset
        try:
            self._take_in(size)
        finally:  # a header that can't be read must not make the segment shorter
            self.size, self.next_offset = size, next_offset

    def truncate(self, position: int) -> None:
        """Cut the segment at `position`, where a batch starts.

        Synced at once, or a power loss could bring back what was cut off, under new batches.
        """
        # First the index: an entry behind the end of the segment tells of a loss.
        self.offsets.void()
        file = self.log.file()
        file.truncate(position)
        self._take_in(position)
        self.aborted.truncate_from(self.next_offset)
        file.sync()

    def _take_in(self, size: int) -> None:
        self._forget_batches()
        for position, header in self.headers(0, upto_position=size):
            self.note(position, header, header.base_offset, header.max_timestamp)

    def _forget_batches(self) -> None:
        """Back to an empty segment in memory; the files are left alone."""
        self.offsets.clear()
        self.times.clear()
        self._hints.clear()
        self._unindexed_bytes = 0
        self.size = 0
        self.next_offset = self.base_offset
        self.first_timestamp = self.max_timestamp = -1
        self.max_timestamp_offset = self.base_offset

    def headers(
        self, position: int, *, upto_position: int | None = None
    ) -> Iterator[tuple[int, BatchHeader]]:
        """Hop from header to header, from the batch at `position` on."""
        end = self.size if upto_position is None else upto_position
        chunk, chunk_at = b"", position
        while position < end:
            if position + HEADER_SIZE > chunk_at + len(chunk):
                chunk, chunk_at = self.log.file().read(_HOP_CHUNK, position), position
                if len(chunk) < HEADER_SIZE:
                    raise BatchDamaged(f"{self.log.path} ends before position {position}")
            header = parse_header(chunk, position - chunk_at)
            if header.batch_length < HEADER_SIZE - LENGTH_PREFIX:
                raise BatchDamaged(f"{self.log.path} is damaged at position {position}")
            yield position, header
            position += header.size

    def locate(self, offset: int) -> int:
        """Where the first batch that ends at or behind `offset` starts; `size` if none does."""
        position = self._hints.get(offset)
        if position is not None:
            return position
        if offset <= self.base_offset:
            return 0
        if offset >= self.next_offset:
            return self.size
        for position, header in self.headers(self._floor_position(offset)):
            # A damaged header may say that its batch ends before it starts.
            if max(header.base_offset + 1, header.next_offset) > offset:
                return position
        return self.size

    def _floor_position(self, offset: int) -> int:
        """A place at or before the batch with `offset`, from the index."""
        try:
            entry = self.offsets.floor(0, offset - self.base_offset)
        except OSError:
            entry = (-1, -1)
        if entry is None:
            return 0
        relative_offset, position = entry
        if 0 <= position < self.size:
            start = self.log.file().read(8, position)
            if len(start) == 8 and _base_offset_at(start)[0] == self.base_offset + relative_offset:
                return position
        self.rebuild_indexes()
        entry = self.offsets.floor(0, offset - self.base_offset)
        return 0 if entry is None else entry[1]

    def hint(self, offset: int, position: int) -> None:
        """Remember where the batch that starts with `offset` is, or will be."""
        hints = self._hints
        if len(hints) >= _MAX_HINTS:
            del hints[next(iter(hints))]
        hints[offset] = position

    def read(self, offset: int, max_bytes: int, upto_offset: int, *, min_one: bool) -> memoryview:
        """Whole batches from the one with `offset` on; see `Log.read`."""
        start = self.locate(offset)
        if upto_offset >= self.next_offset:
            upto_offset, stop = self.next_offset, self.size
        else:
            stop = self.locate(upto_offset)
        if stop - start <= max_bytes:
            if stop <= start:
                return _EMPTY
            data = self.log.file().read(stop - start, start)
            if len(data) != stop - start:
                raise StorageError(f"{self.log.path} is shorter than its {self.size} bytes")
            self.hint(upto_offset, stop)
            return memoryview(data)
        return self._read_part(start, max_bytes, min_one=min_one)

    def _read_part(self, start: int, max_bytes: int, *, min_one: bool) -> memoryview:
        """As many whole batches as `max_bytes` hold; the caller knows that more follow."""
        # A few bytes more than allowed, so that the header behind the cut is seen too.
        data = self.log.file().read(max(max_bytes, 0) + LENGTH_PREFIX, start)
        if len(data) < LENGTH_PREFIX:
            raise StorageError(f"{self.log.path} ends before position {start}")
        first_size = batch_size(data)
        if first_size > max_bytes:
            if not min_one:
                return _EMPTY
            whole = self.log.file().read(first_size, start)
            if len(whole) != first_size:
                raise BatchDamaged(f"{self.log.path} ends inside the batch at {start}")
            return memoryview(whole)
        cut = self._last_indexed_boundary(data, start, max_bytes)
        while cut + LENGTH_PREFIX <= len(data):
            end = cut + batch_size(data, cut)
            if end > max_bytes or end <= cut:
                break
            cut = end
        if cut + 8 <= len(data):
            self.hint(_base_offset_at(data, cut)[0], start + cut)
        return memoryview(data)[:cut]

    def _last_indexed_boundary(self, data: bytes, start: int, max_bytes: int) -> int:
        """Skip most hops of a long read: a batch boundary in `data` that the index knows, or 0."""
        try:
            entry = self.offsets.floor(1, start + max_bytes)
        except OSError:
            return 0
        if entry is None or entry[1] <= start:
            return 0
        cut = entry[1] - start
        found = _base_offset_at(data, cut)[0] if cut + 8 <= len(data) else -1
        return cut if found == self.base_offset + entry[0] else 0

    def cut_back(self) -> None:
        """Remove from the file what a failed append left behind the last batch."""
        self.log.file().truncate(self.size)

    def write_again(self, offset: int) -> None:
        """Write the batches from `offset` on again, and the index that is not rebuilt: see
        `LogFlusher.write_again`. Raises OSError."""
        rewrite(self.log.file(), self.locate(offset), self.size)
        if self.aborted.spilled:
            rewrite(self.aborted.handle.file(), 0, self.aborted.spilled * ENTRY_SIZE)

    def close(self) -> None:
        self.log.close()
        self.offsets.handle.close()
        self.times.handle.close()
        self.aborted.handle.close()
