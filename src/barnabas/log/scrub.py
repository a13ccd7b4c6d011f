"""Reading a segment for its own sake: rot is found before somebody needs what it has taken.

The job has a handle on the file of its own, so the segment may be compacted, deleted or lose its
handle meanwhile. Whether it was still the log's segment all the time, the log says at the end
(`Log.is_still_there`): if not, what was found means nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.log.recovery.salvage import batch_behind
from barnabas.log.segment.scan import Flaw, ScannedBatch, scan_batches
from barnabas.log.segment.segment import Segment
from barnabas.log.storage import File


class Scrubbed(NamedTuple):
    """Which segment it was, and as it was then."""

    base_offset: int
    next_offset: int
    size: int
    truncations: int


class Rot(NamedTuple):
    """Offsets that can't be read any more, from `start` up to `end`."""

    start: int
    end: int
    reason: str


class ScrubJob:
    """Looks through one segment, step by step, on any thread. `close` it in the end."""

    __slots__ = ("_file", "_found", "_next_offset", "_path", "rot", "segment")

    def __init__(self, segment: Segment, truncations: int) -> None:
        """May raise OSError."""
        self.segment = Scrubbed(segment.base_offset, segment.next_offset, segment.size, truncations)
        self._path = segment.log.path
        self._next_offset = segment.base_offset
        self._file: File = segment.log.duplicate()
        self._found: Iterator[ScannedBatch | Flaw] = scan_batches(self._file, segment.size)
        self.rot: Rot | None = None

    def step(self, max_bytes: int) -> bool:
        """Look through some more. False if there is nothing left to do. OSError: can't be read."""
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
            if header.base_offset < self._next_offset:
                self._rotten(Flaw(found.position, f"base offset {header.base_offset}"))
                return False
            self._next_offset = header.next_offset
            seen += header.size
        return True

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
