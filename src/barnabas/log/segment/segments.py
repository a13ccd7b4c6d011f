"""The segments of a log, oldest first; appends go to the last one."""

from bisect import bisect_left, bisect_right
from itertools import islice
from operator import attrgetter

from barnabas.log.segment.deletion import DeleteJob, SegmentInfo, rename_deleted
from barnabas.log.segment.file_names import segment_path
from barnabas.log.segment.open_files import OpenFiles
from barnabas.log.segment.segment import Segment
from barnabas.log.segment.transaction_index import AbortedTransaction

_base_offset = attrgetter("base_offset")


class Segments(list[Segment]):
    """A list of segments that do not overlap, and operations on several of them."""

    __slots__ = ()

    def with_offset(self, offset: int) -> Segment:
        """The segment with the first batch that ends behind `offset`; the last if none has."""
        number = max(bisect_right(self, offset, key=_base_offset) - 1, 0)
        # Compaction leaves gaps: then the next segment has it.
        while offset >= self[number].next_offset and number + 1 < len(self):
            number += 1
        return self[number]

    def bytes_between(self, offset: int, end_offset: int) -> int:
        total = 0
        for segment in reversed(self):
            if segment.base_offset < end_offset and segment.next_offset > offset:
                total += segment.locate(end_offset) - segment.locate(offset)
            if segment.base_offset <= offset:
                break
        return total

    def aborted_transactions(self, offset: int, end_offset: int) -> list[AbortedTransaction]:
        """See `ProducerState.aborted_transactions`. Raises OSError."""
        found: list[AbortedTransaction] = []
        # Nothing before `offset` is in a segment that ends before it.
        start = max(bisect_right(self, offset, key=_base_offset) - 1, 0)
        for segment in islice(self, start, None):
            if segment.aborted and segment.aborted.between(offset, end_offset, found):
                break
        return found

    def remove_oldest(self, count: int, files: OpenFiles, directory: str) -> DeleteJob:
        """Remove the first `count` segments. OSError may leave some of them removed."""
        removed: list[SegmentInfo] = []
        paths: list[str] = []
        for _ in range(count):
            paths += rename_deleted(files.disk, self[0])
            removed.append(SegmentInfo.of(self.pop(0)))
        return DeleteJob(files.disk, paths, removed, sync_first=directory)

    def count_below(self, offset: int) -> int:
        """How many begin before `offset`; the first one always counts."""
        return max(bisect_left(self, offset, key=_base_offset), 1)

    def remove_last(self, count: int, files: OpenFiles, set_aside: str = "") -> None:
        """Remove segments, or move them to the directory `set_aside`. Raises OSError.

        The last one first, so that there is no gap if the disk fails after some of them.
        """
        for _ in range(count):
            segment = self[-1]
            segment.close()
            log, *indexes = segment.paths()
            for path in indexes:  # first: one without its segment tells of a loss
                files.disk.unlink(path)
            if set_aside and segment.size:
                files.disk.rename(log, segment_path(set_aside, segment.base_offset))
            else:
                files.disk.unlink(log)
            self.pop()
