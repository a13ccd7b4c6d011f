"""One pass of compaction: the job, its result, and the pass itself.

Job and result are plain values, since the pass runs in another process, or at least on another
thread. It reads the sources twice: the part that has not been compacted yet, for the last offset of
every key, and then all of them, to write the retained batches.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from barnabas.log.compaction.key_map import KeyMap
from barnabas.log.compaction.output import Output, OutputWriter, output_suffix
from barnabas.log.compaction.producers import RememberedBatches
from barnabas.log.compaction.raw_records import read_records
from barnabas.log.compaction.retained import Retained
from barnabas.log.compaction.source import Source
from barnabas.log.compaction.throttle import UNLIMITED, Throttle
from barnabas.log.compaction.transactions import AbortedRanges
from barnabas.log.config import LogConfig
from barnabas.log.errors import StorageError
from barnabas.log.segment.scan import Flaw, ScannedBatch, scan_batches
from barnabas.log.segment.transaction_index import AbortedTransaction
from barnabas.log.segment.unreadable_batch import UnreadableBatch
from barnabas.log.storage import Disk

_MOST_UNREADABLE = 100


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """The resources of a pass."""

    key_map_bytes: int = 128 * 1024 * 1024
    bytes_per_second: float = UNLIMITED
    label: str = ""
    """Part of the outputs' names, so that two processes never write to the same file."""


@dataclass(frozen=True, slots=True)
class CompactionJob:
    """What to compact."""

    directory: str
    sources: list[Source]
    dirty_offset: int
    """Below, no key occurs twice: earlier passes have compacted it."""
    config: LogConfig
    now_ms: int
    truncations: int
    producers: dict[int, RememberedBatches]
    aborted: list[AbortedTransaction]
    """The aborted transactions that have records in the sources."""
    removable_upto: int
    """Tombstones and markers stay from here on: some replica does not have them yet."""
    limits: CompactionLimits


@dataclass(slots=True)
class CompactionResult:
    """The result of a job; `outputs` are in the order of their offsets."""

    outputs: list[Output] = field(default_factory=list)
    end_offset: int = 0
    """Below, no key occurs twice once the outputs are in place."""
    last_horizon_ms: int = -1
    """When every tombstone and marker that is left may be removed; -1 if there is none."""
    deletions_upto: int = 0
    """Behind the last tombstone or marker that was removed; 0 if none was."""
    keys: int = 0
    moved_bytes: int = 0
    """Read and written."""
    unreadable: list[tuple[int, str]] = field(default_factory=list)
    """Base offsets of batches that stay as they are since they can't be decoded, and why."""
    error: str | None = None

    @property
    def freed_bytes(self) -> int:
        """How many bytes smaller the outputs are than what they replace."""
        return sum(
            sum(source.size for source in output.sources) - output.state.size
            for output in self.outputs
        )


def compact(job: CompactionJob, disk: Disk) -> CompactionResult:
    """Run a job, on any thread or process. Never raises: the result has the error."""
    run = _Pass(job, disk)
    try:
        return run.run()
    except (OSError, StorageError) as error:
        with suppress(OSError):
            run.give_up()
        return CompactionResult(error=str(error))


class _Pass:
    def __init__(self, job: CompactionJob, disk: Disk) -> None:
        self._job = job
        self._disk = disk
        self._throttle = Throttle(job.limits.bytes_per_second)
        self._aborted = AbortedRanges(job.aborted)
        self._outputs: list[Output] = []
        self._unreadable: list[tuple[int, str]] = []
        self._writer: OutputWriter | None = None

    def run(self) -> CompactionResult:
        self._remove_leftovers()
        self._sync_sources()
        latest, end_offset = self._latest_offsets()
        retained = Retained(self._job, latest, end_offset, self._aborted)
        sources = [
            source
            for source in self._job.sources
            if source.base_offset < max(end_offset, self._job.dirty_offset)
        ]
        self._write(sources, retained)
        return CompactionResult(
            self._outputs,
            end_offset,
            retained.last_horizon_ms,
            retained.deletions_upto,
            latest.count,
            self._throttle.total_bytes,
            unreadable=self._unreadable[:_MOST_UNREADABLE],
        )

    def give_up(self) -> None:
        """Leave no file behind."""
        if self._writer is not None:
            self._writer.abandon()
        for output in self._outputs:
            for path in output.paths:
                self._disk.unlink(path)

    def _remove_leftovers(self) -> None:
        """Files of an earlier pass that was interrupted."""
        directory = self._job.directory
        for name in self._disk.list_files(directory):
            if name.endswith(output_suffix(self._job.limits.label)):
                self._disk.unlink(f"{directory}/{name}")

    def _sync_sources(self) -> None:
        """All of them have to be on stable storage before one of them is replaced."""
        for source in self._job.sources:
            file = self._disk.open(source.path)
            try:
                file.sync()
            finally:
                file.close()
        self._disk.sync_directory(self._job.directory)

    def _latest_offsets(self) -> tuple[KeyMap, int]:
        """The map, and the offset it reaches: a batch boundary, if there is no room for all."""
        job = self._job
        dirty = [source for source in job.sources if source.next_offset > job.dirty_offset]
        most = sum(source.next_offset - source.base_offset for source in dirty)
        capacity = min(most, KeyMap.capacity_of(job.limits.key_map_bytes))
        latest = KeyMap(dirty[0].base_offset if dirty else job.dirty_offset, capacity)
        for source in dirty:
            for batch in self._batches(source):
                header = batch.header
                if header.next_offset <= job.dirty_offset:
                    continue
                if not latest.has_room_for(header.record_count, header.last_offset):
                    if latest.count:
                        return latest, header.base_offset
                    latest = KeyMap(header.base_offset, max(capacity, header.record_count))
                if not header.is_control and not self._aborted.has(header):
                    try:
                        latest.put(read_records(batch)[1], header.base_offset)
                    except UnreadableBatch as error:
                        self._unreadable.append((header.base_offset, str(error)))
        return latest, max(job.dirty_offset, job.sources[-1].next_offset)

    def _batches(self, source: Source) -> Iterator[ScannedBatch]:
        file = self._disk.open(source.path)
        try:
            for found in scan_batches(file, source.size):
                if isinstance(found, Flaw):
                    raise StorageError(f"{source.path} at {found.position}: {found.reason}")
                if found.flaw is not None:
                    raise StorageError(f"{source.path} at {found.position}: {found.flaw}")
                self._throttle.spent(found.header.size)
                yield found
        finally:
            file.close()

    def _write(self, sources: list[Source], retained: Retained) -> None:
        for source in sources:
            if self._writer is None or not self._writer.has_room_for(source):
                self._finish()
                self._writer = OutputWriter(self._disk, self._job, self._throttle)
            writer = self._writer
            writer.begin(source)
            for batch in self._batches(source):
                kept = retained.of(batch)
                if kept is None:
                    writer.leave_out(batch.header)
                else:
                    writer.append(*kept, is_changed=kept[1] is not batch.data)
        self._finish()

    def _finish(self) -> None:
        if self._writer is not None:
            output = self._writer.finish()
            self._writer = None
            if output is not None:
                self._outputs.append(output)
