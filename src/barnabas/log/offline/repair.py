"""Replacing batches that can't be decoded, in a log that no broker has open: `barnabas log repair`.

Such a batch (see `unreadable_batch`) is copied to `set_aside`, and a batch without records takes
its place, as compaction leaves them: offsets, leader epoch and producer stay, so that consumers
pass over it, followers can copy it, and the producer's sequence continues. The result depends on
the batch alone, so all replicas are the same again when each of them is repaired.

A segment is written under another name, and renamed over the old one: a crash leaves the one or the
other. Before, `log.state` stops trusting it. Bytes that are no whole batch, or that have a
wrong CRC, are copied as they are: recovery deals with them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.log.compaction.raw_records import Batch, emptied
from barnabas.log.config import LogConfig
from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.file_copy import copy_range
from barnabas.log.segment.file_names import CLEANED_SUFFIX, LOG_SUFFIX, offset_in, segment_path
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.segment.scan import Flaw, ScannedBatch, scan_batches
from barnabas.log.segment.segment import Segment
from barnabas.log.segment.unreadable_batch import UnreadableBatch, readable_payload
from barnabas.log.set_aside import SetAsideReason, set_aside_path, sync_set_aside
from barnabas.log.state import SegmentState, read_state, write_state
from barnabas.log.storage import Disk
from barnabas.records.batch import BatchHeader
from barnabas.records.errors import DecompressionBomb

_COPIED_BYTES = 1024 * 1024


class GarbageBatch(NamedTuple):
    """A batch that can't be decoded, and why; where its copy is once it was replaced."""

    segment: str
    position: int
    header: BatchHeader
    reason: str
    copied_to: str | None = None


class DamagedBytes(NamedTuple):
    """Bytes with a wrong CRC, or that are no batch: not repaired here."""

    segment: str
    position: int
    reason: str


def examine_log(disk: Disk, directory: str) -> Iterator[GarbageBatch | DamagedBytes]:
    """The batches and bytes of a log that can't be read. Changes nothing. Raises `StorageError`."""
    with storage_errors(f"cannot read {directory}"):
        for base_offset in _base_offsets(disk, directory):
            yield from _examine(disk, segment_path(directory, base_offset))


def repair_log(disk: Disk, directory: str, now_ms: int) -> Iterator[GarbageBatch | DamagedBytes]:
    """Replace batches that can't be decoded, segment by segment; yields what it found in each.

    The caller holds the lock of the data directory. Raises `StorageError`; then the segment at
    hand is as it was.
    """
    with storage_errors(f"cannot repair {directory}"):
        aside = set_aside_path(disk, directory, now_ms, SetAsideReason.UNREADABLE)
        for base_offset in _base_offsets(disk, directory):
            found = list(_examine(disk, segment_path(directory, base_offset)))
            copies = [
                each._replace(copied_to=_copy_out(disk, each, aside))
                for each in found
                if isinstance(each, GarbageBatch)
            ]
            if copies:
                sync_set_aside(disk, aside)
                _SegmentRewrite(disk, directory, base_offset).run()
            yield from copies
            yield from (each for each in found if isinstance(each, DamagedBytes))


def _base_offsets(disk: Disk, directory: str) -> list[int]:
    numbers = (offset_in(name, LOG_SUFFIX) for name in disk.list_files(directory))
    return sorted(number for number in numbers if number is not None)


def _examine(disk: Disk, path: str) -> Iterator[GarbageBatch | DamagedBytes]:
    file = disk.open(path)
    try:
        for found in scan_batches(file, file.size()):
            if isinstance(found, Flaw):
                yield DamagedBytes(path, found.position, found.reason)
            elif found.flaw is not None:
                yield DamagedBytes(path, found.position, found.flaw)
            elif (reason := _reason(found)) is not None:
                yield GarbageBatch(path, found.position, found.header, reason)
    finally:
        file.close()


def _reason(batch: ScannedBatch) -> str | None:
    """Why the records of a batch, whose CRC is right, can't be read; None if they can."""
    try:
        readable_payload(batch.header, batch.data)
    except UnreadableBatch as error:
        return error.reason
    except DecompressionBomb:
        return None
    return None


def _copy_out(disk: Disk, batch: GarbageBatch, directory: str) -> str:
    """Copy a batch as it is; returns the path of the copy."""
    header = batch.header
    disk.make_directory(directory)
    path = f"{directory}/{header.base_offset:020d}-{header.last_offset:020d}.batch"
    file = disk.open(batch.segment)
    try:
        copy_range(disk, file, batch.position, batch.position + header.size, path)
    finally:
        file.close()
    return path


class _SegmentRewrite:
    """Writes one segment again, without the records of unreadable batches."""

    def __init__(self, disk: Disk, directory: str, base_offset: int) -> None:
        self._disk = disk
        self._directory = directory
        self._old = Segment(OpenFiles(disk), directory, base_offset, _index_interval(), 0)
        self._new = Segment(
            OpenFiles(disk), directory, base_offset, _index_interval(), 0, CLEANED_SUFFIX
        )
        self._is_whole = True
        self._written = 0

    def run(self) -> None:
        base_offset = self._old.base_offset
        state = read_state(self._disk, self._directory)
        listed = None if state is None else state.segments.get(base_offset)
        size = self._disk.list_files(self._directory)[f"{base_offset:020d}{LOG_SUFFIX}"]
        self._write(size)
        is_trusted = listed is not None and listed.size == size
        if is_trusted and not self._is_whole:
            self._abandon()
            raise StorageError(
                f"{self._old.log.path} was complete on stable storage and is damaged now; "
                "restore it from another replica or a backup first"
            )
        if state is not None and listed is not None and listed.size in (size, self._written):
            state.segments[base_offset] = SegmentState.to_be_scanned(base_offset)
            write_state(self._disk, self._directory, state, sync=True)
        self._rename()
        if state is not None and listed is not None and is_trusted:
            written = SegmentState.of(self._new)
            state.segments[base_offset] = written._replace(
                aborted_transactions=listed.aborted_transactions
            )
            write_state(self._disk, self._directory, state, sync=True)

    def _write(self, size: int) -> None:
        source, target = self._old.log.file(), self._new.log.create()
        target.truncate(0)
        read = 0
        for found in scan_batches(source, size):
            if isinstance(found, Flaw):
                self._is_whole = False
                break
            header, data = self._kept(found)
            target.write(data, self._written)
            self._new.note(self._written, header, header.base_offset, header.max_timestamp)
            self._written += len(data)
            read = found.position + found.header.size
        while read < size:
            rest = source.read(min(_COPIED_BYTES, size - read), read)
            if not rest:
                raise StorageError(f"{self._old.log.path} is shorter than it was")
            target.write(rest, self._written)
            self._written += len(rest)
            read += len(rest)
        if not self._new.spill_indexes():
            raise StorageError(f"cannot write the indexes of {self._old.log.path}")
        for handle in (self._new.log, self._new.offsets.handle, self._new.times.handle):
            handle.create().sync()
        self._new.close()
        self._old.close()

    def _kept(self, found: ScannedBatch) -> Batch:
        if found.flaw is not None:
            self._is_whole = False
        elif _reason(found) is not None:
            return emptied(found.header)
        return found.header, found.data

    def _abandon(self) -> None:
        for path in self._new.paths():
            self._disk.unlink(path)

    def _rename(self) -> None:
        """The log comes last: an index that does not fit it is built again at the opening."""
        for old, new in zip(self._old.paths()[1:3], self._new.paths()[1:3], strict=True):
            self._disk.rename(new, old)
        self._disk.rename(self._new.log.path, self._old.log.path)
        self._disk.sync_directory(self._directory)


def _index_interval() -> int:
    return LogConfig().index_interval_bytes
