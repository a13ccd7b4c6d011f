"""Compaction: of every key only the last record stays. Offsets never change.

Planned on the log's thread, run on any other, completed on the log's thread again:

1. `CompactionJob.run` reads the finished segments twice: first for the last offset of every key,
   then to copy the batches that have something to keep into `.cleaned` files, which it syncs.
   Small outputs of neighbouring segments become one. A batch that keeps all its records is copied
   as it is; one that loses some keeps its offsets, timestamps, producer and sequence.
2. `swap_in` renames each `.cleaned` file over the first segment that it replaces, one atomic step,
   in the order of offsets, and sets the other replaced segments aside.

A crash leaves at every moment, for every output, the old segments or the new one: before the rename
the `.cleaned` file is a leftover, and after it a replaced segment that still stands there is known
by its base offset lying inside its predecessor. An older record of a key is always gone before a
newer one may go, because outputs are swapped in order.

A tombstone (a null value) goes when it is older than `delete_retention_ms` by its own timestamp.
Records without a key go; control batches and the last batch of all stay. The keys of the finished
segments must fit in memory. Left out so far: the dirty ratio, and aborted transactions.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.log.config import LogConfig
from barnabas.log.deletion import DeleteJob, SegmentInfo, set_aside
from barnabas.log.errors import StorageError
from barnabas.log.handles import OpenFiles
from barnabas.log.recovery import CLEANED_SUFFIX
from barnabas.log.scan import Flaw, ScannedBatch, scan_batches
from barnabas.log.segment import Segment
from barnabas.log.segments import Segments
from barnabas.log.state import SegmentState
from barnabas.log.storage import Disk
from barnabas.records.batch import (
    HEADER_SIZE,
    LENGTH_PREFIX,
    BatchHeader,
    compute_crc,
    pack_header,
)
from barnabas.records.compression import Compression, compress, decompress
from barnabas.records.decode import DEFAULT_MAX_DECOMPRESSED_BYTES
from barnabas.records.errors import CorruptBatch, RecordsError
from barnabas.records.varint import decode_varint

_MAX_RELATIVE_OFFSET = 2**31 - 1


class Source(NamedTuple):
    """A finished segment, as the job may know it."""

    base_offset: int
    next_offset: int
    size: int
    path: str


class Output(NamedTuple):
    """A synced `.cleaned` segment, and how many segments it replaces from its base offset on."""

    state: SegmentState
    replaced: list[int]


class RawRecord(NamedTuple):
    """A record's place in the uncompressed payload, and what decides about it."""

    start: int
    end: int
    offset: int
    timestamp: int
    key: bytes | None
    is_tombstone: bool


class CompactionJob:
    """One pass over the finished segments of a log."""

    __slots__ = ("_config", "_directory", "_disk", "_now_ms", "error", "outputs", "sources")

    def __init__(
        self, disk: Disk, directory: str, sources: list[Source], config: LogConfig, now_ms: int
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._config = config
        self._now_ms = now_ms
        self.sources = sources
        self.outputs: list[Output] = []
        self.error: Exception | None = None

    def run(self) -> None:
        """On any thread. It never raises: `Log.complete_compaction` reads `error`."""
        try:
            self._sync_sources()
            latest = self._latest_offsets()
            self._write_outputs(latest)
        except (OSError, StorageError, RecordsError) as error:
            self.error = error
            self.outputs = []

    def _sync_sources(self) -> None:
        """Recovery tells by it what a compaction has left out from what a crash has lost."""
        for source in self.sources:
            file = self._disk.open(source.path)
            try:
                file.sync()
            finally:
                file.close()
        self._disk.sync_directory(self._directory)

    def _latest_offsets(self) -> dict[bytes, int]:
        latest: dict[bytes, int] = {}
        for source in self.sources:
            for batch in self._batches(source):
                if not batch.header.is_control:
                    for record in raw_records(batch.header, payload_of(batch)):
                        if record.key is not None:
                            latest[record.key] = record.offset
        return latest

    def _batches(self, source: Source) -> Iterator[ScannedBatch]:
        file = self._disk.open(source.path)
        try:
            for found in scan_batches(file, source.size):
                if isinstance(found, Flaw):
                    raise StorageError(f"{source.path} at {found.position}: {found.reason}")
                if found.flaw is not None:
                    raise StorageError(f"{source.path} at {found.position}: {found.flaw}")
                yield found
        finally:
            file.close()

    def _write_outputs(self, latest: dict[bytes, int]) -> None:
        writer: _Writer | None = None
        for source in self.sources:
            if writer is None or not writer.has_room_for(source, self._config.segment_bytes):
                self._finish(writer)
                writer = _Writer(self._disk, self._directory, source.base_offset, self._config)
            writer.replaced.append(source)
            for batch in self._batches(source):
                kept = self._retained(batch, latest)
                if kept is not None:
                    writer.append(*kept)
        self._finish(writer)

    def _finish(self, writer: "_Writer | None") -> None:
        if writer is not None:
            output = writer.finish()
            if output is not None:
                self.outputs.append(output)

    def _retained(
        self, batch: ScannedBatch, latest: dict[bytes, int]
    ) -> tuple[BatchHeader, bytes | memoryview] | None:
        """What is left of a batch; None if nothing is."""
        header = batch.header
        if header.is_control or header.next_offset == self.sources[-1].next_offset:
            return header, batch.data
        payload = payload_of(batch)
        horizon_ms = self._now_ms - self._config.delete_retention_ms
        kept = [
            record
            for record in raw_records(header, payload)
            if record.key is not None
            and latest[record.key] == record.offset
            and not (record.is_tombstone and record.timestamp < horizon_ms)
        ]
        if len(kept) == header.record_count:
            return header, batch.data
        if not kept:
            return None
        return rebuilt_batch(header, b"".join(payload[r.start : r.end] for r in kept), len(kept))


class _Writer:
    """One `.cleaned` segment in the making."""

    def __init__(self, disk: Disk, directory: str, base_offset: int, config: LogConfig) -> None:
        self._disk = disk
        self._segment = Segment(
            OpenFiles(disk),
            directory,
            base_offset,
            config.index_interval_bytes,
            created_ms=0,
            extra_suffix=CLEANED_SUFFIX,
        )
        self._segment.log.create().truncate(0)
        self.replaced: list[Source] = []

    def has_room_for(self, source: Source, segment_bytes: int) -> bool:
        """An output that is still empty always has: so the first base offset is never lost."""
        segment = self._segment
        return segment.size == 0 or (
            segment.size + source.size <= segment_bytes
            and source.next_offset - segment.base_offset <= _MAX_RELATIVE_OFFSET
        )

    def append(self, header: BatchHeader, data: bytes | memoryview) -> None:
        segment = self._segment
        segment.log.file().write(data, segment.size)
        segment.note(segment.size, header, header.base_offset, header.max_timestamp)

    def finish(self) -> Output | None:
        """Sync what was written; None, and no file, if it would replace a segment by its like."""
        segment = self._segment
        if len(self.replaced) == 1 and segment.size == self.replaced[0].size:
            segment.close()
            for path in segment.paths():
                self._disk.unlink(path)
            return None
        if not segment.spill_indexes():
            raise OSError(f"can not write the indexes of {segment.log.path}")
        for handle in (segment.log, segment.offsets.handle, segment.times.handle):
            handle.create().sync()
        segment.close()
        return Output(SegmentState.of(segment), [source.base_offset for source in self.replaced])


def swap_in(
    files: OpenFiles, directory: str, segments: Segments, job: CompactionJob, config: LogConfig
) -> DeleteJob | None:
    """Put the job's outputs in the place of the segments that they replace, in `segments` too.

    If retention or truncation has removed one of the sources meanwhile, nothing is done. OSError
    leaves the log whole: with some outputs in place and the others not.
    """
    disk = files.disk
    present = {segment.base_offset: segment for segment in segments[:-1]}
    unchanged = all(
        source.base_offset in present and present[source.base_offset].size == source.size
        for source in job.sources
    )
    merged: list[SegmentInfo] = []
    paths: list[str] = []
    for output in job.outputs:
        base_offset = output.state.base_offset
        segment = Segment(files, directory, base_offset, config.index_interval_bytes, created_ms=0)
        if not unchanged:
            for path in segment.paths():
                disk.unlink(f"{path}{CLEANED_SUFFIX}")
            continue
        present[base_offset].close()
        log_path, *index_paths = segment.paths()
        disk.rename(f"{log_path}{CLEANED_SUFFIX}", log_path)
        output.state.apply(segment)
        at = segments.index(present[base_offset])
        segments[at] = segment
        try:
            for path in index_paths:
                disk.rename(f"{path}{CLEANED_SUFFIX}", path)
        except OSError:
            segment.rebuild_indexes()
        # They must be gone before the next output is swapped in: that one may lack the tombstone
        # that hides a record of theirs.
        for _ in output.replaced[1:]:
            merged.append(SegmentInfo.of(segments[at + 1]))
            paths += set_aside(disk, segments[at + 1])
            del segments[at + 1]
        disk.sync_directory(directory)
    return DeleteJob(disk, paths, merged) if paths else None


def sources_of(
    segments: Segments, config: LogConfig, now_ms: int, upto_offset: int | None
) -> list[Source]:
    """The finished segments, up to an offset, whose records are all old enough to be compacted."""
    sources = []
    for segment in segments[:-1]:
        if upto_offset is not None and segment.next_offset > upto_offset:
            break
        if segment.max_timestamp > now_ms - config.min_compaction_lag_ms > 0:
            break
        sources.append(
            Source(segment.base_offset, segment.next_offset, segment.size, segment.log.path)
        )
    return sources


def payload_of(batch: ScannedBatch) -> bytes:
    """The records of a batch, uncompressed."""
    data = batch.data[HEADER_SIZE:]
    return bytes(decompress(batch.header.compression, data, DEFAULT_MAX_DECOMPRESSED_BYTES))


def raw_records(header: BatchHeader, payload: bytes) -> Iterator[RawRecord]:
    """Walk over the records without copying more than their keys."""
    at = 0
    try:
        for _ in range(header.record_count):
            start = at
            length, at = decode_varint(payload, at)
            end = at + length
            timestamp_delta, at = decode_varint(payload, at + 1)
            offset_delta, at = decode_varint(payload, at)
            key_size, at = decode_varint(payload, at)
            key = None
            if key_size >= 0:
                key = payload[at : at + key_size]
                at += key_size
            value_size, at = decode_varint(payload, at)
            if at > end or end > len(payload):
                raise CorruptBatch("a record is longer than its batch")
            timestamp = header.base_timestamp + timestamp_delta
            if header.is_log_append_time:
                timestamp = header.max_timestamp
            offset = header.base_offset + offset_delta
            yield RawRecord(start, end, offset, timestamp, key, value_size < 0)
            at = end
    except IndexError:
        raise CorruptBatch("a record is cut off") from None


def rebuilt_batch(header: BatchHeader, payload: bytes, count: int) -> tuple[BatchHeader, bytes]:
    """The same batch with fewer records; their bytes, deltas included, stay as they are."""
    data = compress(Compression(header.compression), payload)
    size = HEADER_SIZE - LENGTH_PREFIX + len(data)
    header = header._replace(batch_length=size, record_count=count, crc=0)
    header = header._replace(crc=compute_crc(memoryview(pack_header(header) + data)))
    return header, pack_header(header) + data
