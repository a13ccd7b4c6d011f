"""Loading one segment: from what `log.state` says, or by a scan of its batches."""

from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.log.segment.open_files import Handle
from barnabas.log.segment.scan import Flaw, scan_batches
from barnabas.log.segment.segment import MAX_OFFSETS, Segment
from barnabas.log.segment.transaction_index import ENTRY_SIZE
from barnabas.log.state import SegmentState
from barnabas.records.batch import BatchHeader


class SegmentLoader:
    """Loads segments in the order of their offsets, and collects the leader epochs."""

    def __init__(self, listing: dict[str, int], epochs: LeaderEpochs, *, power_lost: bool) -> None:
        self._listing = listing
        self._epochs = epochs
        self.known_epochs = epochs.entries()
        """As the state has them."""
        self._end_offset = 0
        """Of the batches so far."""
        self._power_lost = power_lost
        self.first_scanned: int | None = None
        """Base offset of the first segment that was not trusted."""
        self.scanned_bytes = 0
        self.has_falling_epochs = False
        """Some batch says that it is of an earlier epoch than one before it."""
        self.first_flaw = ""
        self.gap_from: int | None = None
        """Where the first gap begins that was not there when the state was written, among the
        batches of the segment that was loaded last."""

    def load_trusted(self, segment: Segment, listed: SegmentState) -> None:
        """Take the segment as the state lists it, and build indexes again that do not fit."""
        listed.apply(segment)
        self.gap_from = None
        segment.check_on_read()
        if self.first_scanned is not None:
            for _, header in segment.headers(0):
                self._note_epoch(header)
        self._end_offset = segment.next_offset
        if not self._trusts_aborted(segment):
            segment.aborted.lose()
        for index, entry_size in ((segment.offsets, 8), (segment.times, 12)):
            if self._size_of(index.handle) != index.spilled * entry_size:
                segment.rebuild_indexes()
                return

    def _trusts_aborted(self, segment: Segment) -> bool:
        """Whether the transaction index can be what was written. It has no checksum.

        It may have been written after the last sync of its segment, so a power loss leaves anything
        in it: the records of an aborted transaction would be shown as committed.
        """
        aborted = segment.aborted
        if not aborted.spilled:
            return True
        if self._power_lost or self._size_of(aborted.handle) < aborted.spilled * ENTRY_SIZE:
            return False
        return aborted.fits(segment.base_offset, segment.next_offset)

    def _size_of(self, handle: Handle) -> int:
        return self._listing.get(handle.path.rpartition("/")[2], 0)

    def scan(self, segment: Segment, size: int, known_size: int = 0) -> Flaw | None:
        """Take in the valid batches from the start of the file; returns what ends them, if any.

        The first `known_size` bytes were there when the state was written.
        """
        if self.first_scanned is None:
            # From here on the headers say which epoch began where: the state may have an epoch
            # whose first batches were lost and came again at other offsets.
            self.first_scanned = segment.base_offset
            self._epochs.truncate_from(segment.base_offset)
        segment.aborted.lose()
        if self._size_of(segment.offsets.handle):
            segment.offsets.void()
        flaw: Flaw | None = None
        self.gap_from = None
        end_offset = segment.base_offset
        for found in scan_batches(segment.log.file(), size):
            if isinstance(found, Flaw):
                flaw = found
                break
            header = found.header
            relative_offset = header.base_offset - segment.base_offset
            if found.flaw is not None or not 0 <= relative_offset <= MAX_OFFSETS:
                flaw = Flaw(found.position, found.flaw or f"base offset {header.base_offset}")
                break
            if end_offset < header.base_offset and found.position >= known_size:
                self.gap_from = end_offset if self.gap_from is None else self.gap_from
            end_offset = header.next_offset
            self._note_epoch(header)
            segment.note(found.position, header, header.base_offset, header.max_timestamp)
        self.scanned_bytes += size
        segment.spill_indexes()
        if flaw is not None:
            self.note_flaw(f"{segment.log.path} at position {flaw.position}: {flaw.reason}")
        return flaw

    def _note_epoch(self, header: BatchHeader) -> None:
        """Compaction may have removed the first batches of an epoch: then the state knows where
        it began.
        """
        epoch = header.partition_leader_epoch
        if epoch < self._epochs.latest:
            self.has_falling_epochs = True
        self._epochs.assign_behind_gap(
            self.known_epochs, self._end_offset, epoch, header.base_offset
        )
        self._end_offset = header.next_offset

    def note_flaw(self, flaw: str) -> None:
        """The first flaw is the one that is reported."""
        self.first_flaw = self.first_flaw or flaw
