"""Reading stored segments to find bit rot before a consumer needs the records.

A job has its own handle on the file, so the segment may be compacted, deleted or lose its handle
meanwhile. `LogScrub.is_current` tells at the end whether the log still has that segment: if not,
the job's finding means nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.log.errors import storage_errors
from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.log.local_log import LocalLog
from barnabas.log.segment.batch_search import batch_behind
from barnabas.log.segment.scan import Flaw, ScannedBatch, scan_batches
from barnabas.log.segment.segment import Segment
from barnabas.log.storage import File
from barnabas.records.batch import BatchHeader


class ScrubbedSegment(NamedTuple):
    """The segment as it was when its job was made."""

    base_offset: int
    next_offset: int
    size: int
    truncations: int


class Rot(NamedTuple):
    """Offsets that can't be read any longer, from `start` up to, not including, `end`."""

    start: int
    end: int
    reason: str


class ScrubJob:
    """Reads one segment, step by step, on any thread. `close` it in the end."""

    __slots__ = (
        "_epochs",
        "_file",
        "_found",
        "_has_gaps",
        "_next_offset",
        "_path",
        "_suspect_epochs_from",
        "garbled",
        "rot",
        "segment",
    )

    def __init__(
        self,
        segment: Segment,
        truncations: int,
        epochs: LeaderEpochs,
        suspect_epochs_from: int | None,
        *,
        has_gaps: bool,
    ) -> None:
        """`epochs` is what the log knows, but not from `suspect_epochs_from` on. `has_gaps`:
        compaction may have removed batches.

        May raise OSError.
        """
        self._epochs = epochs
        self._suspect_epochs_from = suspect_epochs_from
        self._has_gaps = has_gaps
        self.garbled: dict[int, int] = {}
        """Base offsets of batches with another leader epoch than the log knows, with that one."""
        self.segment = ScrubbedSegment(
            segment.base_offset, segment.next_offset, segment.size, truncations
        )
        self._path = segment.log.path
        self._next_offset = segment.base_offset
        self._file: File = segment.log.duplicate()
        self._found: Iterator[ScannedBatch | Flaw] = scan_batches(self._file, segment.size)
        self.rot: Rot | None = None

    def step(self, max_bytes: int) -> bool:
        """Read about `max_bytes` more. False if the segment is done. Raises OSError."""
        seen = 0
        while seen < max_bytes:
            found = next(self._found, None)
            if found is None:
                self._end()
                return False
            if isinstance(found, Flaw):
                self._rotten(found)
                return False
            if found.flaw is not None:
                self._rotten(Flaw(found.position, found.flaw))
                return False
            header = found.header
            is_gap = header.base_offset > self._next_offset and not self._has_gaps
            if is_gap or not self._next_offset <= header.base_offset < self.segment.next_offset:
                self._rotten(Flaw(found.position, f"base offset {header.base_offset}"))
                return False
            self._check_epoch(header)
            self._next_offset = header.next_offset
            seen += header.size
        return True

    def _check_epoch(self, header: BatchHeader) -> None:
        """The CRC does not cover the leader epoch, but the log knows which epoch began where."""
        offset = header.base_offset
        if self._suspect_epochs_from is None or offset < self._suspect_epochs_from:
            expected = self._epochs.epoch_for(offset)
            if header.partition_leader_epoch != expected >= 0:
                self.garbled[offset] = header.partition_leader_epoch

    def _end(self) -> None:
        if self._next_offset != self.segment.next_offset:
            reason = f"{self._path} ends at {self._next_offset}"
            self.rot = Rot(self._next_offset, self.segment.next_offset, reason)

    def _rotten(self, flaw: Flaw) -> None:
        behind = batch_behind(self._file, flaw, self.segment.size, self._next_offset)
        end = self.segment.next_offset if behind is None else behind.header.base_offset
        reason = f"{self._path} at position {flaw.position}: {flaw.reason}"
        self.rot = Rot(self._next_offset, end, reason)

    def close(self) -> None:
        self._file.close()


class LogScrub:
    """The segments of a log for a scrubber."""

    __slots__ = ("_log",)

    def __init__(self, log: LocalLog) -> None:
        self._log = log

    def last_written_ms(self) -> list[tuple[int, int]]:
        """The base offset of each segment, and when its file was last written.

        Raises `StorageError`.
        """
        log = self._log
        with storage_errors(f"cannot read {log.directory}"):
            return [
                (segment.base_offset, log.files.disk.modified_ms(segment.log.path))
                for segment in log.segments
                if segment.size
            ]

    def segment_with(self, offset: int) -> int:
        """The base offset of the segment that holds an offset, or would."""
        segments = self._log.segments
        return segments.with_offset(offset).base_offset if segments else 0

    def job(self, base_offset: int) -> ScrubJob | None:
        """The job that reads a segment up to its end of now; None if the segment is gone.

        Raises `StorageError`.
        """
        log = self._log
        for segment in log.segments:
            if segment.base_offset == base_offset and segment.size:
                with storage_errors(f"cannot open {segment.log.path}"):
                    return ScrubJob(
                        segment,
                        log.compaction_progress.truncations,
                        LeaderEpochs(log.epochs.entries()),
                        log.suspect_epochs_from,
                        has_gaps=log.may_have_gaps,
                    )
        return None

    def is_current(self, scrubbed: ScrubbedSegment) -> bool:
        """Whether the log still has this segment, perhaps with more batches at its end."""
        log = self._log
        if scrubbed.truncations != log.compaction_progress.truncations:
            return False
        for segment in log.segments:
            if segment.base_offset == scrubbed.base_offset:
                has_grown = segment is log.active and segment.size > scrubbed.size
                return has_grown or (segment.size, segment.next_offset) == (
                    scrubbed.size,
                    scrubbed.next_offset,
                )
        return False
