"""Writing the retained batches: `.cleaned` segments, each replacing one or several sources.

An output ends where its last source ends: if the last batch is removed, a batch without records
keeps its offsets. So there are no gaps between segments, which recovery would take for a loss, and
a follower can copy the log's end and a consumer read it.

A source that nothing is removed from is not even copied: writing begins with the first change.
Writes are synced in small portions, so that no large flush stalls other work.
"""

from typing import TYPE_CHECKING, NamedTuple

from barnabas.log.compaction.raw_records import is_placeholder, placeholder
from barnabas.log.compaction.source import Source
from barnabas.log.compaction.throttle import Throttle
from barnabas.log.errors import StorageError
from barnabas.log.segment.file_names import CLEANED_SUFFIX
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.segment.segment import MAX_OFFSETS, Segment
from barnabas.log.state import SegmentState
from barnabas.log.storage import Buffer, Disk
from barnabas.records.batch import BatchHeader

if TYPE_CHECKING:
    from barnabas.log.compaction.job import CompactionJob

_MAX_SIZE = 2**31 - 1
_COPIED_BYTES = 1024 * 1024
_BUFFERED_BYTES = 256 * 1024
_SYNC_BYTES = 16 * 1024 * 1024


class Output(NamedTuple):
    """A synced `.cleaned` segment, and the sources that it replaces."""

    state: SegmentState
    sources: list[Source]
    suffix: str
    """Of its files, until they are renamed."""
    paths: tuple[str, ...]
    """Its files; some may not exist."""


def output_suffix(label: str) -> str:
    """The suffix of a job's output files until they are renamed."""
    return f"{label}{CLEANED_SUFFIX}"


class OutputWriter:
    """One output while it is written."""

    def __init__(self, disk: Disk, job: "CompactionJob", throttle: Throttle) -> None:
        self._disk = disk
        self._directory = job.directory
        self._config = job.config
        self._suffix = output_suffix(job.limits.label)
        self._throttle = throttle
        self._segment: Segment | None = None
        self._sources: list[Source] = []
        self._left_out: BatchHeader | None = None
        """The last batch so far, if it is removed."""
        self._is_changed = False
        self._buffer = bytearray()
        self._written = 0
        self._synced = 0

    def has_room_for(self, source: Source) -> bool:
        """Whether another source fits into the same segment even if all of it is retained."""
        segment = self._segment
        return segment is not None and (
            segment.size + source.size <= self._config.segment_bytes
            and source.next_offset - segment.base_offset <= MAX_OFFSETS
        )

    def begin(self, source: Source) -> None:
        """The following batches are from this source."""
        if self._segment is None:
            self._segment = Segment(
                OpenFiles(self._disk),
                self._directory,
                source.base_offset,
                self._config.index_interval_bytes,
                created_ms=0,
                extra_suffix=self._suffix,
            )
        else:
            self._change()
        self._sources.append(source)

    def leave_out(self, header: BatchHeader) -> None:
        """Remove this batch."""
        if not is_placeholder(header):
            self._change()
        self._left_out = header

    def append(self, header: BatchHeader, data: Buffer, *, is_changed: bool) -> None:
        segment = self._segment
        assert segment is not None
        if is_changed or self._left_out is not None:
            self._change()
        if segment.size + header.size > _MAX_SIZE:
            raise StorageError(f"{segment.log.path} grows beyond {_MAX_SIZE} bytes")
        self._left_out = None
        segment.note(segment.size, header, header.base_offset, header.max_timestamp)
        if self._is_changed:
            self._buffer += data
            if len(self._buffer) >= _BUFFERED_BYTES:
                self._write()

    def _change(self) -> None:
        """From here on the output differs from its source."""
        if self._is_changed:
            return
        self._is_changed = True
        segment = self._segment
        assert segment is not None
        segment.log.create().truncate(0)
        if segment.size:
            self._copy(self._sources[0].path, segment.size)

    def _copy(self, path: str, size: int) -> None:
        file = self._disk.open(path)
        try:
            while self._written < size:
                data = file.read(min(_COPIED_BYTES, size - self._written), self._written)
                if not data:
                    raise StorageError(f"{path} is shorter than it was")
                self._buffer += data
                self._write()
        finally:
            file.close()

    def _write(self) -> None:
        segment = self._segment
        assert segment is not None
        file = segment.log.file()
        file.write(self._buffer, self._written)
        self._written += len(self._buffer)
        self._throttle.spent(len(self._buffer))
        self._buffer.clear()
        if self._written - self._synced >= _SYNC_BYTES:
            file.sync()
            self._synced = self._written

    def finish(self) -> Output | None:
        """Complete and sync the output; None if it is the same as its source."""
        segment = self._segment
        assert segment is not None
        if not self._is_changed:
            return None
        if self._left_out is not None:
            self.append(*placeholder(self._left_out), is_changed=True)
        self._write()
        if not segment.spill_indexes():
            raise OSError(f"cannot write the indexes of {segment.log.path}")
        for handle in (segment.log, segment.offsets.handle, segment.times.handle):
            handle.create().sync()
        segment.close()
        return Output(SegmentState.of(segment), self._sources, self._suffix, segment.paths())

    def abandon(self) -> None:
        """Remove what was written."""
        if self._segment is not None:
            self._segment.close()
            for path in self._segment.paths():
                self._disk.unlink(path)
