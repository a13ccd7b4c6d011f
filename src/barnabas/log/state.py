"""`log.state`: the state of a log between a stop and the next start, as a line of JSON.

The second line is a checksum: the file is not synced while the log is open, but for truncation and
losses, and a power loss may leave any bytes. A clean stop syncs it.
Earlier releases wrote none.

    log_start_offset   records below are deleted, though their segment may still be there
    epochs             (leader epoch, start offset) pairs
    committed_offset   the high watermark when the file was written
    compacted_offset   below it, no key of a compacted topic occurs twice
    lost_ranges        offsets of records lost by damage, as long as the loss is not accepted
    last_horizon_ms    when all tombstones and markers that compaction has left may be removed
    segments           the segments that are complete on stable storage: sizes, offsets
    untrusted          base offsets of the other segments
    expected_end       where the log ended before it lost its end, as long as the loss is not known
    closed_end         where the log ended when it was last closed
    suspect_from       records from here on may differ from those of other replicas; see `suspects`

A recovery that finds losses where there is no such file writes one that has only `lost_ranges`,
`expected_end` and `suspect_from`: for everything else, the log is opened as without the file.

A log can be opened without the file. **A segment is trusted if it is listed here with exactly the
size it has now, and every other segment is scanned.** Only synced segments are listed. So after a
clean stop (everything is listed) nothing is scanned, after a crash the segments that were not
synced are, and there is no marker to remove in time: the first append makes the entry wrong.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple
from zlib import crc32

from barnabas.log.compaction_progress import Progress
from barnabas.log.lost_ranges import LostRange
from barnabas.log.segment.segment import Segment
from barnabas.log.storage import Disk

STATE_FILE = "log.state"
_NO_SIZE = -1
_VERSION = 1


class SegmentState(NamedTuple):
    base_offset: int
    size: int
    next_offset: int
    first_timestamp: int
    max_timestamp: int
    max_timestamp_offset: int
    index_entries: int
    time_index_entries: int
    aborted_transactions: int = 0

    @classmethod
    def of(cls, segment: Segment) -> "SegmentState":
        return cls(
            segment.base_offset,
            segment.size,
            segment.next_offset,
            segment.first_timestamp,
            segment.max_timestamp,
            segment.max_timestamp_offset,
            segment.offsets.spilled,
            segment.times.spilled,
            segment.aborted.spilled,
        )

    @classmethod
    def to_be_scanned(cls, base_offset: int) -> "SegmentState":
        """A segment on stable storage that a compaction may have replaced by another one there.

        Such a segment may end before the next one begins.
        """
        return cls(base_offset, _NO_SIZE, base_offset, -1, -1, -1, 0, 0)

    def apply(self, segment: Segment) -> None:
        segment.size = self.size
        segment.next_offset = self.next_offset
        segment.first_timestamp = self.first_timestamp
        segment.max_timestamp = self.max_timestamp
        segment.max_timestamp_offset = self.max_timestamp_offset
        segment.offsets.spilled = self.index_entries
        segment.times.spilled = self.time_index_entries
        segment.aborted.spilled = self.aborted_transactions


class LogState(NamedTuple):
    log_start_offset: int
    epochs: list[tuple[int, int]]
    segments: dict[int, SegmentState]
    committed_offset: int
    compaction: Progress
    lost_ranges: tuple[LostRange, ...] = ()
    is_start_exact: bool = True
    """False for a state of an earlier release, which retention wrote after it had deleted."""
    untrusted: frozenset[int] = frozenset()
    """Base offsets of the segments that are there and not listed: they have to be scanned."""
    expected_end: int = 0
    """The log has ended there, and ends earlier now; 0 if it has lost nothing, or if the other
    replicas know of it."""
    closed_end: int = -1
    """Where the log ended when it was last closed; -1 if it never was. A snapshot is there."""
    suspect_from: int | None = None
    """The first record that a power loss may have changed, as long as it was not replaced."""


class Losses(NamedTuple):
    """The part of the state that no scan of the log can find again."""

    lost_ranges: tuple[LostRange, ...] = ()
    expected_end: int = 0
    suspect_from: int | None = None


def write_state(disk: Disk, directory: str, state: LogState, *, sync: bool = False) -> None:
    content = {
        "version": _VERSION,
        "log_start_offset": state.log_start_offset,
        "epochs": state.epochs,
        "committed_offset": state.committed_offset,
        "compacted_offset": state.compaction.compacted_offset,
        "last_horizon_ms": state.compaction.last_horizon_ms,
        "deletions_upto": state.compaction.deletions_upto,
        "lost_ranges": state.lost_ranges,
        "segments": list(state.segments.values()),
        "untrusted": sorted(state.untrusted),
        "expected_end": state.expected_end,
        "closed_end": state.closed_end,
        "suspect_from": state.suspect_from,
    }
    _write(disk, directory, content, sync=sync)


def write_losses(disk: Disk, directory: str, losses: Losses) -> None:
    """Write a file that tells of nothing else, to stable storage."""
    _write(disk, directory, {"version": _VERSION, **losses._asdict()}, sync=True)


def _write(disk: Disk, directory: str, content: Mapping[str, object], *, sync: bool) -> None:
    data = json.dumps(content, separators=(",", ":")).encode()
    checked = b"%b\n%08x\n" % (data, crc32(data))
    disk.replace_file(f"{directory}/{STATE_FILE}", checked, sync=sync)


def read_state(disk: Disk, directory: str) -> LogState | None:
    """The state as last written, or None if there is none that can be understood.

    OSError if the disk fails: it alone may know that the log has lost records.
    """
    return read_state_and_losses(disk, directory)[0]


def read_state_and_losses(disk: Disk, directory: str) -> tuple[LogState | None, Losses]:
    """The state, and what the file tells of losses, also if it tells of nothing else."""
    losses = Losses()
    try:
        data, _, checksum = disk.read_file(f"{directory}/{STATE_FILE}").partition(b"\n")
        if checksum and checksum != b"%08x\n" % crc32(data):
            return None, losses
        content = json.loads(data)
        if content["version"] != _VERSION:
            return None, losses
        suspect_from = content.get("suspect_from")
        losses = Losses(
            tuple(
                LostRange(int(start), int(end), str(reason))
                for start, end, reason in content.get("lost_ranges", ())
            ),
            int(content.get("expected_end", 0)),
            None if suspect_from is None else int(suspect_from),
        )
        segments = [SegmentState(*map(int, numbers)) for numbers in content["segments"]]
        state = LogState(
            int(content["log_start_offset"]),
            [(int(epoch), int(start)) for epoch, start in content["epochs"]],
            {segment.base_offset: segment for segment in segments},
            int(content.get("committed_offset", 0)),
            Progress(
                int(content.get("compacted_offset", 0)),
                int(content.get("last_horizon_ms", -1)),
                int(content.get("deletions_upto", 0)),
            ),
            losses.lost_ranges,
            "lost_ranges" in content,
            frozenset(map(int, content.get("untrusted", ()))),
            losses.expected_end,
            int(content.get("closed_end", -1)),
            losses.suspect_from,
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None, losses
    return state, losses
