"""Opening the directory of a partition, whatever is in it.

Segments that `log.state` vouches for are taken as they are; every other one is scanned, and gets
new indexes. Where that finds something else than batches, it is one of two things:

- **A torn tail.** A crash has cut off what was not synced: the last append, or after a loss of
  power anything behind what was synced. The log is cut there, and what follows is dropped.
- **Damage**: to something that was synced, or that a mere crash of the process can't have changed.
  Nothing is dropped then. Whole batches behind it are kept (`salvage`), and the offsets that are
  gone are reported, and remembered as `LostRanges`: what follows a lost record must not be served
  as if it followed the one before.

A segment may also be missing, or have lost its last batches without a trace, so the next one has to
begin where it ends; except that a compaction leaves gaps (`_is_explained`).

What interrupted work left behind is cleared away: `.deleted`, `.cleaned` and `.tmp` files, indexes
without their log, and segments that a compaction had merged into their predecessor. (Compaction
replaces a segment by one atomic rename, so old and new never coexist under one name.)
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from barnabas.log.compaction_progress import Progress
from barnabas.log.config import LogConfig
from barnabas.log.flush_job import FLUSH_MARK
from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.log.lost_ranges import LostRange, LostRanges
from barnabas.log.producers.snapshot import SNAPSHOT_SUFFIX
from barnabas.log.recovery.salvage import CLEANED_SUFFIX, find_batch, move_out
from barnabas.log.segment.deletion import DELETED_SUFFIX
from barnabas.log.segment.open_files import Handle, OpenFiles
from barnabas.log.segment.scan import Flaw, scan_batches
from barnabas.log.segment.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    Segment,
    number_in,
)
from barnabas.log.segment.segments import Segments
from barnabas.log.segment.transaction_index import ENTRY_SIZE, TRANSACTION_INDEX_SUFFIX
from barnabas.log.state import STATE_FILE, LogState, SegmentState, read_state

_TMP_SUFFIX = ".tmp"
_MAX_RELATIVE_OFFSET = 2**31 - 1
_ANY_OFFSET = 2**63 - 1


class RecoveryReport(NamedTuple):
    """What an opening had to repair."""

    scanned_bytes: int
    cut_bytes: int
    dropped_segments: int
    flaw: str
    lost: str
    """Segments that `log.state` knows to be on the disk, and that are not."""
    expected_end: int
    """The log ended there, or behind, when its state was written. Its end is lost if that is behind
    `log_end_offset` now."""


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
    lost_ranges: LostRanges
    is_flush_marked: bool = False
    is_state_outdated: bool = False
    """`log.state` has another start: a loss of power has brought an older state back."""


def recover(
    files: OpenFiles, directory: str, config: LogConfig, now_ms: int, *, power_lost: bool
) -> Recovered:
    """Read what is there; the directory must exist. OSError if the disk can not even be read."""
    listing = files.disk.list_files(directory)
    state = read_state(files.disk, directory) if STATE_FILE in listing else None
    return _Recovery(files, directory, config, now_ms, listing, state, power_lost).run()


class _Recovery:
    """One opening; exists so that its steps can share what they know."""

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        config: LogConfig,
        now_ms: int,
        listing: dict[str, int],
        state: LogState | None,
        power_lost: bool,
    ) -> None:
        self._files = files
        self._disk = files.disk
        self._directory = directory
        self._index_interval_bytes = config.index_interval_bytes
        self._now_ms = now_ms
        self._listing = listing
        numbers = ((number_in(name, LOG_SUFFIX), size) for name, size in listing.items())
        self._sizes = {number: size for number, size in numbers if number is not None}
        self._base_offsets = sorted(self._sizes)
        self._state = state
        self._power_lost = power_lost
        self._vouched = state.segments if state else {}
        self._last_vouched = max(filter(self._is_vouched, self._base_offsets), default=-1)
        self._epochs = LeaderEpochs(state.epochs if state else None)
        self._log_start_offset = state.log_start_offset if state else 0
        self._compaction = state.compaction if state else Progress()
        # Without a state nobody knows how far it was compacted.
        is_compacted = state is None and "compact" in config.cleanup_policy
        self._gaps_upto = _ANY_OFFSET if is_compacted else self._compaction.compacted_offset
        self._lost = LostRanges(state.lost_ranges if state else ())
        self._first_scanned: int | None = None
        self._scanned_bytes = 0
        self._cut_bytes = 0
        self._dropped_segments = 0
        self._flaw = ""

    def run(self) -> Recovered:
        if not self._listing:
            none = LostRanges()
            return Recovered(Segments(), self._epochs, 0, 0, [], None, 0, Progress(), none)
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
        missing = list(self._missing())
        self._find_lost(segments, missing)
        self._lost.start_at(self._log_start_offset)
        self._lost.cut_at(end)
        start = max(self._log_start_offset, segments[0].base_offset if segments else 0)
        if self._lost and self._lost.first_offset is not None:
            start = max(self._log_start_offset, min(start, self._lost.first_offset))
        self._epochs.truncate_from(end)
        committed = self._state.committed_offset if self._state else 0
        expected_end = max([committed, *(each.next_offset for each in missing), *self._shrunk()])
        report = None
        lost = ", ".join(map(_told, missing))
        has_news = self._dropped_segments or lost or self._lost or expected_end > end
        if self._first_scanned is not None or has_news:
            report = RecoveryReport(
                self._scanned_bytes,
                self._cut_bytes,
                self._dropped_segments,
                self._flaw,
                lost,
                expected_end,
            )
        synced = end if self._first_scanned is None else min(self._first_scanned, end)
        snapshots = self._usable_snapshots(end)
        self._compaction.cut_at(end)
        return Recovered(
            segments,
            self._epochs,
            start,
            synced,
            snapshots,
            report,
            min(max(committed, start), end),
            self._compaction,
            self._lost,
            FLUSH_MARK in self._listing,
            self._state is not None and self._state.log_start_offset != start,
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
        left = list(self._base_offsets)
        while left:
            base_offset = left.pop(0)
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
                flaw = self._scan(segment, self._sizes[base_offset])
                if flaw is not None and self._is_torn_tail(segment, flaw):
                    was_cut = True
                    self._cut(segment)
                elif flaw is not None:
                    self._salvage(segment, flaw, left)
                else:
                    self._note_shrunk(segment)
            if segments and segments[-1].next_offset > base_offset:
                self._remove(segment, dropped=False)
                continue
            if segments and segments[-1].size == 0:
                self._remove(segments.pop(), dropped=False)
            segments.append(segment)
        return segments

    def _is_behind_a_loss(self, segments: Segments, base_offset: int) -> bool:
        """Whether a loss of power has taken away what came before this segment."""
        if not segments or not self._power_lost or base_offset < self._last_vouched:
            return False
        previous = segments[-1]
        end = previous.next_offset
        if self._is_explained(previous.base_offset, end, base_offset):
            return False
        self._flaw = self._flaw or f"{previous.log.path} ends at {end}, not {base_offset}"
        return True

    def _is_explained(self, previous: int, end: int, base_offset: int) -> bool:
        """Whether nothing is lost although a segment ends before the next one begins."""
        # A follower begins a segment behind a gap only if that is wider than any segment.
        if not 0 < base_offset - end <= _MAX_RELATIVE_OFFSET or previous < self._gaps_upto:
            return True
        listed = self._vouched.get(previous)
        if listed is None:
            return False
        if listed.size < 0:
            return True  # a compaction was putting another one in its place
        # The gap was there when the state was written; what is missing since is found otherwise.
        return self._is_vouched(previous) and base_offset in self._vouched

    # Damage

    def _is_torn_tail(self, segment: Segment, flaw: Flaw) -> bool:
        """Whether a crash can have left this flaw in what was not synced."""
        base_offset = segment.base_offset
        listed = self._vouched.get(base_offset)
        if base_offset < self._last_vouched or (listed and flaw.position < listed.size):
            return False
        if self._power_lost:
            return True
        if any(size for later, size in self._sizes.items() if later > base_offset):
            return False
        size, file = self._sizes[base_offset], segment.log.file()
        return find_batch(file, flaw.position + 1, size, segment.next_offset) is None

    def _salvage(self, segment: Segment, flaw: Flaw, left: list[int]) -> None:
        """Keep what is behind a flaw as a segment, which is scanned next."""
        size = self._sizes[segment.base_offset]
        file = segment.log.file()
        behind = move_out(self._disk, self._directory, file, flaw, size, segment.next_offset)
        self._cut(segment)
        if behind is not None and behind not in self._sizes:
            left.append(behind)
            left.sort()
            self._sizes[behind] = self._disk.list_files(self._directory)[_log_name(behind)]
        end = min([*left, *([] if behind is None else [behind])], default=segment.next_offset)
        self._lost.add(LostRange(segment.next_offset, end, flaw.reason))

    def _note_shrunk(self, segment: Segment) -> None:
        listed = self._vouched.get(segment.base_offset)
        if listed is not None and segment.size < listed.size:
            reason = f"{_log_name(segment.base_offset)} is shorter than it was"
            self._lost.add(LostRange(segment.next_offset, listed.next_offset, reason))

    def _find_lost(self, segments: Segments, missing: list[SegmentState]) -> None:
        """Note the offsets between segments, and before the first, that ought to be there."""
        for each in missing:
            reason = f"{_log_name(each.base_offset)} is missing"
            self._lost.add(LostRange(each.base_offset, each.next_offset, reason))
        state = self._state
        first = segments[0].base_offset if segments else 0
        # A log that has no state has never begun anywhere but at 0, or far away from it.
        is_near = first <= _MAX_RELATIVE_OFFSET
        is_start_exact = is_near if state is None else state.is_start_exact
        if is_start_exact and not self._power_lost:
            reason = f"{_log_name(self._log_start_offset)} is missing"
            self._lost.add(LostRange(self._log_start_offset, first, reason))
        for previous, segment in pairwise(segments):
            end = previous.next_offset
            if not self._is_explained(previous.base_offset, end, segment.base_offset):
                reason = f"{_log_name(previous.base_offset)} ends at {end}"
                self._lost.add(LostRange(end, segment.base_offset, reason))

    def _missing(self) -> Iterator[SegmentState]:
        """What the state vouches for and is not there.

        Retention may have gone on after a state of an earlier release, or one that a loss of power
        brought back: it takes the oldest segments and leaves one.
        """
        first = self._base_offsets[0] if self._base_offsets else -1
        for base_offset, vouched in self._vouched.items():
            if base_offset > first and vouched.size > 0 and base_offset not in self._base_offsets:
                yield vouched

    def _shrunk(self) -> Iterator[int]:
        """Where segments ended that are shorter now."""
        for base_offset, size in self._sizes.items():
            listed = self._vouched.get(base_offset)
            if listed is not None and size < listed.size:
                yield listed.next_offset

    def _is_vouched(self, base_offset: int) -> bool:
        vouched = self._vouched.get(base_offset)
        return vouched is not None and vouched.size == self._sizes[base_offset]

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

    def _scan(self, segment: Segment, size: int) -> Flaw | None:
        """Take in the valid batches of a segment; what comes behind them, if they are not all."""
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
        if flaw is not None:
            where = f"{segment.log.path} at position {flaw.position}"
            self._flaw = self._flaw or f"{where}: {flaw.reason}"
        return flaw

    def _cut(self, segment: Segment) -> None:
        """Cut off what is behind the batches that were taken in."""
        segment.truncate(segment.size)
        self._cut_bytes += self._sizes[segment.base_offset] - segment.size

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


def _log_name(base_offset: int) -> str:
    return f"{base_offset:020d}{LOG_SUFFIX}"


def _told(missing: SegmentState) -> str:
    offsets = f"offsets {missing.base_offset} to {missing.next_offset - 1}"
    return f"{_log_name(missing.base_offset)} ({offsets}, {missing.size} bytes)"
