"""Opening the directory of a partition, whatever is in it.

Segments that `log.state` vouches for are taken as they are; every other one is scanned, cut back to
its last valid batch, and gets new indexes. Behind a cut, further unvouched segments are dropped:
what follows a lost record must not be served as if it followed the one before. A segment may also
have lost its last batches without a trace, so the next one has to begin where it ends; except that
a compaction leaves gaps, behind segments that `log.state` lists because they were on the disk.

What interrupted work left behind is cleared away: `.deleted`, `.cleaned` and `.tmp` files, indexes
without their log, and segments that a compaction had merged into their predecessor. (Compaction
replaces a segment by one atomic rename, so old and new never coexist under one name.)
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.log.compaction_progress import Progress
from barnabas.log.deletion import DELETED_SUFFIX
from barnabas.log.epochs import LeaderEpochs
from barnabas.log.handles import Handle, OpenFiles
from barnabas.log.producer_snapshot import SNAPSHOT_SUFFIX
from barnabas.log.scan import Flaw, scan_batches
from barnabas.log.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    Segment,
    number_in,
)
from barnabas.log.segments import Segments
from barnabas.log.state import STATE_FILE, LogState, SegmentState, read_state
from barnabas.log.transaction_index import ENTRY_SIZE, TRANSACTION_INDEX_SUFFIX

CLEANED_SUFFIX = ".cleaned"
_TMP_SUFFIX = ".tmp"
_MAX_RELATIVE_OFFSET = 2**31 - 1


class RecoveryReport(NamedTuple):
    """What an opening had to repair."""

    scanned_bytes: int
    cut_bytes: int
    dropped_segments: int
    flaw: str
    lost: str
    """Segments that `log.state` knows to be on the disk, and that are not."""


class Recovered(NamedTuple):
    """The parts from which a log is put together."""

    segments: Segments
    epochs: LeaderEpochs
    log_start_offset: int
    synced_offset: int
    """Everything below is known to be on the disk."""
    snapshots: list[int]
    report: RecoveryReport | None
    committed_offset: int
    compaction: Progress


def recover(files: OpenFiles, directory: str, index_interval_bytes: int, now_ms: int) -> Recovered:
    """Read what is there; the directory must exist. OSError if the disk can not even be read."""
    listing = files.disk.list_files(directory)
    state = read_state(files.disk, directory) if STATE_FILE in listing else None
    return _Recovery(files, directory, index_interval_bytes, now_ms, listing, state).run()


class _Recovery:
    """One opening; exists so that its steps can share what they know."""

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        index_interval_bytes: int,
        now_ms: int,
        listing: dict[str, int],
        state: LogState | None,
    ) -> None:
        self._files = files
        self._disk = files.disk
        self._directory = directory
        self._index_interval_bytes = index_interval_bytes
        self._now_ms = now_ms
        self._listing = listing
        numbers = (number_in(name, LOG_SUFFIX) for name in listing)
        self._base_offsets = sorted(number for number in numbers if number is not None)
        self._vouched = state.segments if state else {}
        self._epochs = LeaderEpochs(state.epochs if state else None)
        self._log_start_offset = state.log_start_offset if state else 0
        self._committed_offset = state.committed_offset if state else 0
        self._compaction = state.compaction if state else Progress()
        self._first_scanned: int | None = None
        self._scanned_bytes = 0
        self._cut_bytes = 0
        self._dropped_segments = 0
        self._flaw = ""

    def run(self) -> Recovered:
        if not self._listing:
            return Recovered(Segments(), self._epochs, 0, 0, [], None, 0, Progress())
        self._clear_leftovers()
        segments = self._load_segments()
        if segments and segments[-1].next_offset < self._log_start_offset:
            # Records were deleted up to a point that the crash then took away as well.
            for segment in segments:
                self._remove(segment, dropped=True)
            segments = Segments()
            self._epochs.truncate_from(-1)  # of the records that are gone
        if self._dropped_segments:
            # Or a loss of power could bring them back, behind batches that took their offsets.
            self._disk.sync_directory(self._directory)
        end = segments[-1].next_offset if segments else self._log_start_offset
        start = max(self._log_start_offset, segments[0].base_offset if segments else 0)
        self._epochs.truncate_from(end)
        report = None
        lost = ", ".join(self._lost_segments())
        if self._first_scanned is not None or self._dropped_segments or lost:
            report = RecoveryReport(
                self._scanned_bytes, self._cut_bytes, self._dropped_segments, self._flaw, lost
            )
        synced = end if self._first_scanned is None else min(self._first_scanned, end)
        snapshots = self._usable_snapshots(end)
        committed = min(max(self._committed_offset, start), end)
        self._compaction.cut_at(end)
        return Recovered(
            segments, self._epochs, start, synced, snapshots, report, committed, self._compaction
        )

    def _clear_leftovers(self) -> None:
        for name in list(self._listing):
            leftover = name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, _TMP_SUFFIX))
            for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
                base_offset = number_in(name, suffix)
                if base_offset is not None:
                    leftover = f"{base_offset:020d}{LOG_SUFFIX}" not in self._listing
            if leftover:
                self._disk.unlink(f"{self._directory}/{name}")
                del self._listing[name]

    def _load_segments(self) -> Segments:
        segments = Segments()
        was_cut = False
        for base_offset in self._base_offsets:
            segment = Segment(
                self._files,
                self._directory,
                base_offset,
                self._index_interval_bytes,
                self._now_ms,
            )
            if self._is_vouched(base_offset):
                self._adopt(segment, self._vouched[base_offset])
            elif was_cut or self._is_behind_a_loss(segments, base_offset):
                was_cut = True
                self._remove(segment, dropped=True)
                continue
            else:
                was_cut = self._scan(segment, self._listing[f"{base_offset:020d}{LOG_SUFFIX}"])
            if segments and segments[-1].next_offset > base_offset:
                self._remove(segment, dropped=False)
                continue
            if segments and segments[-1].size == 0:
                self._remove(segments.pop(), dropped=False)
            segments.append(segment)
        return segments

    def _is_behind_a_loss(self, segments: Segments, base_offset: int) -> bool:
        if not segments or segments[-1].base_offset in self._vouched:
            return False
        gap = base_offset - segments[-1].next_offset
        # A follower begins a segment behind a gap only if that is wider than any segment.
        if not 0 < gap <= _MAX_RELATIVE_OFFSET:
            return False
        path = segments[-1].log.path
        self._flaw = self._flaw or f"{path} ends at {segments[-1].next_offset}, not {base_offset}"
        return True

    def _lost_segments(self) -> Iterator[str]:
        """What the state vouches for and is missing.

        Retention may have gone on after the state was written: it takes the oldest segments and
        leaves one, so those below the first are not missed.
        """
        first = self._base_offsets[0] if self._base_offsets else -1
        for base_offset, vouched in self._vouched.items():
            if base_offset > first and vouched.size > 0 and base_offset not in self._base_offsets:
                offsets = f"offsets {base_offset} to {vouched.next_offset - 1}"
                yield f"{base_offset:020d}{LOG_SUFFIX} ({offsets}, {vouched.size} bytes)"

    def _is_vouched(self, base_offset: int) -> bool:
        vouched = self._vouched.get(base_offset)
        size = self._listing[f"{base_offset:020d}{LOG_SUFFIX}"]
        return vouched is not None and vouched.size == size

    def _adopt(self, segment: Segment, vouched: SegmentState) -> None:
        vouched.apply(segment)
        if self._first_scanned is not None:
            for _, header in segment.headers(0):
                self._epochs.assign(header.partition_leader_epoch, header.base_offset)
        has_aborted = self._size_of(segment.aborted.handle) >= segment.aborted.spilled * ENTRY_SIZE
        if not has_aborted or not segment.aborted.fits(segment.base_offset, segment.next_offset):
            segment.aborted.lose()
        for index, entry_size in ((segment.offsets, 8), (segment.times, 12)):
            if self._size_of(index.handle) != index.spilled * entry_size:
                segment.rebuild_indexes()
                return

    def _size_of(self, handle: Handle) -> int:
        return self._listing.get(handle.path.rpartition("/")[2], 0)

    def _scan(self, segment: Segment, size: int) -> bool:
        """Take in the valid batches of a segment and cut off the rest. True if there was a rest."""
        if self._first_scanned is None:
            # From here on the headers say which epoch began where: the state may know of an epoch
            # whose first batches were lost and came again at other offsets.
            self._first_scanned = segment.base_offset
            self._epochs.truncate_from(segment.base_offset)
        segment.aborted.lose()
        flaw: Flaw | None = None
        for found in scan_batches(segment.log.file(), size):
            if isinstance(found, Flaw):
                flaw = found
                break
            header = found.header
            relative_offset = header.base_offset - segment.base_offset
            if found.flaw is not None or not 0 <= relative_offset <= _MAX_RELATIVE_OFFSET:
                flaw = Flaw(found.position, found.flaw or f"base offset {header.base_offset}")
                break
            self._epochs.assign(header.partition_leader_epoch, header.base_offset)
            segment.note(found.position, header, header.base_offset, header.max_timestamp)
        self._scanned_bytes += size
        segment.spill_indexes()
        if flaw is None:
            return False
        segment.truncate(segment.size)
        self._cut_bytes += size - segment.size
        self._flaw = self._flaw or (
            f"{segment.log.path} at position {flaw.position}: {flaw.reason}"
        )
        return True

    def _remove(self, segment: Segment, *, dropped: bool) -> None:
        self._dropped_segments += dropped
        segment.close()
        for path in segment.paths():
            self._disk.unlink(path)

    def _usable_snapshots(self, end: int) -> list[int]:
        usable = []
        for name in self._listing:
            offset = number_in(name, SNAPSHOT_SUFFIX)
            if offset is None:
                continue
            if offset <= end:
                usable.append(offset)
            else:
                self._disk.unlink(f"{self._directory}/{name}")
        return sorted(usable)
