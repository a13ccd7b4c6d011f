"""Opening the directory of a partition, whatever is in it.

Trusted segments (see `inventory`) are taken as they are; every other one is scanned, and gets new
indexes. A scan that finds bytes which are no valid batch has found one of two things:

- **A torn tail.** A crash has cut off what was not synced: the last append, or after a power loss
  anything behind what was synced. The log is cut there, and what follows is dropped.
- **Damage** to something that was synced, or that a mere crash of the process can't have changed.
  Nothing is dropped then. Whole batches behind it are kept (`salvage`), and the offsets that are
  gone are reported and remembered as `LostRanges`: what follows a lost record must not be served
  as if it followed the one before.

A segment may also be missing, or have lost its last batches without a trace, so each segment has to
begin where the one before ends, unless a compaction has left a gap (`Inventory.explains_gap`). If
it was the last one, other files tell of it (`witnesses`).

What is found to be lost is written to stable storage before the evidence goes (`loss_memory`), and
a later start takes no part of it for a torn tail.

What interrupted operations left behind is removed (`leftovers`), and so are segments that a
compaction had merged into their predecessor. (Compaction replaces a segment by one atomic rename,
so old and new never coexist under one name.)
"""

from itertools import pairwise

from barnabas.log.compaction_progress import Progress
from barnabas.log.config import LogConfig
from barnabas.log.epoch_order import settle_epochs
from barnabas.log.flush_job import FLUSH_MARK
from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.log.lost_ranges import LostRange, LostRanges
from barnabas.log.recovery.inventory import Inventory
from barnabas.log.recovery.leftovers import remove_leftovers, usable_snapshots
from barnabas.log.recovery.loss_memory import LossMemory
from barnabas.log.recovery.recovered import Recovered, RecoveryReport
from barnabas.log.recovery.salvage import salvage
from barnabas.log.recovery.segment_loader import SegmentLoader
from barnabas.log.recovery.witnesses import Witnesses, end_told_by_indexes, find_witnesses
from barnabas.log.segment.batch_epochs import epoch_runs, write_epoch
from barnabas.log.segment.batch_search import find_batch
from barnabas.log.segment.file_names import file_name
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.segment.scan import Flaw
from barnabas.log.segment.segment import Segment
from barnabas.log.segment.segments import Segments
from barnabas.log.start_mark import marked_start, move_mark
from barnabas.log.state import LogState, SegmentState, read_state_and_losses

_ANY_OFFSET = 2**63 - 1


def recover(
    files: OpenFiles, directory: str, config: LogConfig, now_ms: int, *, power_lost: bool
) -> Recovered:
    """Read what is there; the directory must exist. OSError if the disk cannot even be read."""
    listing = files.disk.list_files(directory)
    if not listing:
        none = LostRanges()
        return Recovered(Segments(), LeaderEpochs(), 0, 0, [], None, 0, Progress(), none)
    state, earlier = read_state_and_losses(files.disk, directory)
    memory = LossMemory(files.disk, directory, state, earlier)
    witnesses = Witnesses()
    if not power_lost:
        untrusted = state.untrusted if state is not None else ()
        witnesses = find_witnesses(files.disk, directory, listing, untrusted)
        # Its indexes are removed or written again from here on.
        memory.keep(memory.lost_ranges, end_told_by_indexes(files.disk, directory, witnesses))
    remove_leftovers(files.disk, directory, listing)
    opening = Recovery(
        files, directory, config, now_ms, listing, state, power_lost, witnesses, memory
    )
    return opening.run()


class Recovery:
    """One opening."""

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        config: LogConfig,
        now_ms: int,
        listing: dict[str, int],
        state: LogState | None,
        power_lost: bool,
        witnesses: Witnesses,
        memory: LossMemory,
    ) -> None:
        self._files = files
        self._disk = files.disk
        self._directory = directory
        self._index_interval_bytes = config.index_interval_bytes
        self._now_ms = now_ms
        self._listing = listing
        self._state = state
        self._power_lost = power_lost
        self._witnesses = witnesses
        self._memory = memory
        self._epochs = LeaderEpochs(state.epochs if state else None)
        self._marked_start = marked_start(listing)
        # After a power loss the state may be an older one.
        self._log_start_offset = max(state.log_start_offset if state else 0, self._marked_start)
        self._compaction = state.compaction if state else Progress()
        # Without a state it is unknown how far the log was compacted.
        self._is_compaction_unknown = state is None and "compact" in config.cleanup_policy
        is_unknown = self._is_compaction_unknown
        gaps_upto = _ANY_OFFSET if is_unknown else self._compaction.compacted_offset
        # A compaction writes the state before it replaces a segment, and only a power loss takes
        # both back. So where there is none, each snapshot still tells of a segment.
        begun = () if power_lost or state is not None else witnesses.snapshots
        self._inventory = Inventory(listing, state, gaps_upto, begun)
        if state is not None and not state.is_start_exact:
            first = min(self._inventory.base_offsets, default=0)
            self._log_start_offset = max(self._log_start_offset, first)
        self._loader = SegmentLoader(listing, self._epochs, power_lost=power_lost)
        self._lost = memory.lost_ranges
        self._cut_bytes = 0
        self._corrected_epochs = 0
        self._suspect_epochs_from: int | None = None
        self._dropped_segments = 0
        self._salvaged: dict[int, int] = {}
        """Of segments behind damage: base offset, and the end of what the state lists as synced."""

    def run(self) -> Recovered:
        segments = self._load_segments()
        if segments and segments[-1].next_offset < self._log_start_offset:
            # Records were deleted up to a point that the crash then took away as well.
            for segment in segments:
                self._remove(segment, dropped=True)
            segments = Segments()
            self._epochs.truncate_from(-1)  # of the records that are gone
        if self._dropped_segments:
            # Or a power loss could bring them back, behind batches that took their offsets.
            self._disk.sync_directory(self._directory)
        end = segments[-1].next_offset if segments else self._log_start_offset
        missing = list(self._inventory.missing(self._log_start_offset))
        self._find_lost(segments, missing)
        self._lost.start_at(self._log_start_offset)
        lost_end = max((each.end for each in self._lost), default=0)
        self._lost.cut_at(end)
        start = max(self._log_start_offset, segments[0].base_offset if segments else 0)
        if self._lost and self._lost.first_offset is not None:
            start = max(self._log_start_offset, min(start, self._lost.first_offset))
        self._mark_start(segments[0].base_offset if segments else start, start)
        self._epochs.truncate_from(end)
        if self._loader.has_falling_epochs:
            self._settle_epochs(segments)
        self._compaction.cut_at(end)
        if self._is_compaction_unknown and segments:
            self._compaction.deletions_upto = segments[-1].base_offset
        committed = self._state.committed_offset if self._state else 0
        report = self._report(missing, end, max(committed, lost_end))
        if report is not None:
            # Some of the witnesses are removed now.
            missed_end = report.expected_end if report.expected_end > end else 0
            self._memory.keep(self._lost, missed_end)
        scanned_from = self._loader.first_scanned
        return Recovered(
            segments,
            self._epochs,
            start,
            end if scanned_from is None else min(scanned_from, end),
            usable_snapshots(self._disk, self._directory, self._listing, end),
            report,
            min(max(committed, start), end),
            self._compaction,
            self._lost,
            self._marked_start,
            FLUSH_MARK in self._listing,
            self._state is not None and self._state.log_start_offset != start,
            self._suspect_epochs_from,
            report.expected_end if report is not None and report.expected_end > end else 0,
            self._state.closed_end if self._state is not None else -1,
            is_compaction_unknown=self._is_compaction_unknown and bool(segments),
            gap_from=self._gap_from(segments) if self._power_lost else None,
            suspect_from=self._memory.suspect_from,
        )

    def _gap_from(self, segments: Segments) -> int | None:
        """Where the first gap begins that the power loss may have made.

        A state explains those between segments. Without one, either compaction has left it, or the
        segment before it has lost its end: then another replica has what is missing.
        """
        gaps = [] if self._loader.gap_from is None else [self._loader.gap_from]
        if self._is_compaction_unknown:
            gaps += [
                previous.next_offset
                for previous, segment in pairwise(segments)
                if previous.next_offset < segment.base_offset
                and not self._memory.covers(previous.next_offset, segment.base_offset)
            ]
        return min(gaps, default=None)

    def _mark_start(self, first: int, start: int) -> None:
        """Mark where the segments begin, unless records before that are lost.

        A crash came between state and mark, or an earlier release has made no marks.
        """
        if self._marked_start < first <= start:
            move_mark(self._disk, self._directory, self._marked_start, first)
            self._marked_start = first

    def _report(self, missing: list[SegmentState], end: int, reached: int) -> RecoveryReport | None:
        """`reached`: an offset that the log had reached according to its state."""
        inventory = self._inventory
        ends = [each.next_offset for each in missing]
        ends.append(self._memory.expected_end)
        last = max(inventory.base_offsets, default=None)
        # An earlier release did not write where the log was closed.
        is_closed = last is not None and inventory.is_trusted(last)
        if self._state is not None and self._state.closed_end == end:
            is_closed = True
        ends.append(self._witnesses.expected_end(end, is_closed=is_closed))
        expected_end = max([reached, *ends, *inventory.ends_of_shrunk()])
        has_lost = missing or self._lost or expected_end > end
        if self._loader.first_scanned is None and not self._dropped_segments and not has_lost:
            return None
        return RecoveryReport(
            self._loader.scanned_bytes,
            self._cut_bytes,
            self._dropped_segments,
            self._loader.first_flaw,
            ", ".join(map(_described, missing)),
            expected_end,
            self._corrected_epochs,
        )

    def _load_segments(self) -> Segments:
        inventory = self._inventory
        segments = Segments()
        was_cut = False
        left = list(inventory.base_offsets)
        while left:
            base_offset = left.pop(0)
            segment = Segment(
                self._files,
                self._directory,
                base_offset,
                self._index_interval_bytes,
                self._now_ms,
            )
            if inventory.is_trusted(base_offset):
                self._loader.load_trusted(segment, inventory.listed[base_offset])
            elif was_cut or self._follows_a_loss(segments, base_offset):
                was_cut = True
                self._remove(segment, dropped=True)
                continue
            else:
                listed = inventory.listed.get(base_offset)
                known_size = 0 if listed is None else max(0, listed.size)
                flaw = self._loader.scan(segment, inventory.sizes[base_offset], known_size)
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

    def _follows_a_loss(self, segments: Segments, base_offset: int) -> bool:
        """Whether a power loss has taken away what came before this segment."""
        if not segments or not self._power_lost or base_offset < self._inventory.last_trusted:
            return False
        if base_offset in self._salvaged:
            return False
        previous = segments[-1]
        end = previous.next_offset
        if self._inventory.explains_gap(previous.base_offset, end, base_offset):
            return False
        if self._memory.covers(end, base_offset):
            return False  # it is known to be gone since before
        self._loader.note_flaw(f"{previous.log.path} ends at {end}, not {base_offset}")
        return True

    def _is_torn_tail(self, segment: Segment, flaw: Flaw) -> bool:
        """Whether a crash can have left this flaw in what was not synced."""
        base_offset, sizes = segment.base_offset, self._inventory.sizes
        listed = self._inventory.listed.get(base_offset)
        was_synced = listed is not None and flaw.position < listed.size
        if segment.next_offset < self._salvaged.get(base_offset, -1):
            was_synced = True
        if was_synced or base_offset < self._inventory.last_trusted:
            return False
        if self._memory.covers(segment.next_offset, segment.next_offset + 1):
            return False  # a read has found the damage, and it is not cut out yet
        if self._power_lost:
            return True
        if any(size for later, size in sizes.items() if later > base_offset):
            return False
        size, file = sizes[base_offset], segment.log.file()
        return find_batch(file, flaw.position + 1, size, segment.next_offset) is None

    def _salvage(self, segment: Segment, flaw: Flaw, left: list[int]) -> None:
        """Keep the batches behind a flaw as a segment, which is scanned next."""
        sizes = self._inventory.sizes
        size, file = sizes[segment.base_offset], segment.log.file()
        behind = salvage(
            self._disk, self._directory, self._now_ms, file, flaw, size, segment.next_offset
        )
        if behind is not None and behind not in sizes:
            left.append(behind)
            left.sort()
            sizes[behind] = self._disk.list_files(self._directory)[file_name(behind)]
            synced_end = self._synced_end(segment.base_offset)
            if behind < synced_end:
                self._salvaged[behind] = synced_end
        end = min([*left, *([] if behind is None else [behind])], default=segment.next_offset)
        self._lost.add(LostRange(segment.next_offset, end, flaw.reason))
        # If this node is killed before the log is used, the gap that stays could be taken for one
        # that compaction has left, or a loss of power.
        self._memory.keep(self._lost)
        self._cut(segment)

    def _synced_end(self, base_offset: int) -> int:
        listed = self._inventory.listed.get(base_offset)
        return self._salvaged.get(base_offset, -1) if listed is None else listed.next_offset

    def _note_shrunk(self, segment: Segment) -> None:
        listed = self._inventory.listed.get(segment.base_offset)
        if listed is not None and segment.size < listed.size:
            reason = f"{file_name(segment.base_offset)} is shorter than it was"
            self._lost.add(LostRange(segment.next_offset, listed.next_offset, reason))

    def _find_lost(self, segments: Segments, missing: list[SegmentState]) -> None:
        """Note the offsets between segments, and before the first, that ought to be there."""
        for each in missing:
            reason = f"{file_name(each.base_offset)} is missing"
            start = each.base_offset
            for segment in segments:  # those that an earlier start has salvaged
                if start <= segment.base_offset < each.next_offset:
                    self._lost.add(LostRange(start, segment.base_offset, reason))
                    start = segment.next_offset
            self._lost.add(LostRange(start, each.next_offset, reason))
        first = segments[0].base_offset if segments else 0
        reason = f"{file_name(self._log_start_offset)} is missing"
        self._lost.add(LostRange(self._log_start_offset, first, reason))
        for previous, segment in pairwise(segments):
            base_offset, end = previous.base_offset, previous.next_offset
            if not self._inventory.explains_gap(base_offset, end, segment.base_offset):
                reason = f"{file_name(base_offset)} ends at {end}"
                self._lost.add(LostRange(end, segment.base_offset, reason))

    def _settle_epochs(self, segments: Segments) -> None:
        """Correct leader epochs that can't be right, where those of other batches tell them.

        The others stay as they are, as evidence for the next start: another replica may have to
        replace these batches first.
        """
        start = self._loader.first_scanned
        assert start is not None
        self._epochs.truncate_from(start)
        runs = epoch_runs(segments, start)
        settled = settle_epochs(runs, self._epochs.latest)
        ends = [run.start_offset for run in runs[1:]] + [None]
        for run, end, (epoch, is_exact) in zip(runs, ends, settled, strict=True):
            if epoch is not None:
                gap_start = run.start_offset if run.gap_start is None else run.gap_start
                self._epochs.assign_behind_gap(
                    self._loader.known_epochs, gap_start, epoch, run.start_offset
                )
            if not is_exact and self._suspect_epochs_from is None:
                self._suspect_epochs_from = run.start_offset
            elif is_exact and epoch is not None and epoch != run.epoch:
                self._corrected_epochs += write_epoch(segments, epoch, run.start_offset, end)

    def _cut(self, segment: Segment) -> None:
        """Cut off what is behind the batches that were taken in."""
        segment.truncate(segment.size)
        self._cut_bytes += self._inventory.sizes[segment.base_offset] - segment.size

    def _remove(self, segment: Segment, *, dropped: bool) -> None:
        self._dropped_segments += dropped
        segment.close()
        for path in reversed(segment.paths()):  # an index without a segment tells of a loss
            self._disk.unlink(path)


def _described(missing: SegmentState) -> str:
    offsets = f"offsets {missing.base_offset} to {missing.next_offset - 1}"
    return f"{file_name(missing.base_offset)} ({offsets}, {missing.size} bytes)"
