"""Removing files in two steps: a rename now, the unlink later on another thread.

The rename to `.deleted` removes a file from the log at once. Unlinking a large file can take many
milliseconds, so that is a job for another thread. What a crash leaves in between, the next start
removes.
"""

from typing import NamedTuple

from barnabas.log.segment.file_names import DELETED_SUFFIX
from barnabas.log.segment.segment import Segment
from barnabas.log.storage import Disk


class SegmentInfo(NamedTuple):
    """Offsets, size and timestamp of a segment."""

    base_offset: int
    next_offset: int
    size_bytes: int
    max_timestamp: int

    @classmethod
    def of(cls, segment: Segment) -> "SegmentInfo":
        return cls(segment.base_offset, segment.next_offset, segment.size, segment.max_timestamp)


class DeleteJob:
    """Unlinks files, and removes directories with the files in them.

    With `sync_first`, that directory is synced before: what explains the deletion has to be on
    stable storage when the files go.
    """

    __slots__ = ("_disk", "_sync_first", "directories", "error", "paths", "segments")

    def __init__(
        self,
        disk: Disk,
        paths: list[str],
        segments: list[SegmentInfo] | None = None,
        directories: list[str] | None = None,
        sync_first: str = "",
    ) -> None:
        self._disk = disk
        self._sync_first = sync_first
        self.directories = directories or []
        self.paths = paths
        self.segments = segments or []
        self.error: OSError | None = None

    def run(self) -> None:
        """On any thread. Never raises, but sets `error`; the next start removes the rest."""
        try:
            if self._sync_first:
                self._disk.sync_directory(self._sync_first)
            for directory in self.directories:
                for name in self._disk.list_files(directory):
                    self._disk.unlink(f"{directory}/{name}")
                self._disk.remove_directory(directory)
            for path in self.paths:
                self._disk.unlink(path)
        except OSError as error:
            self.error = error


def rename_deleted(disk: Disk, segment: Segment) -> list[str]:
    """Rename a segment's files to `.deleted`; returns their paths. Raises OSError.

    The log file is the last one: if OSError interrupts this, the segment is still there, and
    builds its indexes again when it misses them.
    """
    segment.close()
    deleted = []
    for path in reversed(segment.paths()):
        try:
            disk.rename(path, f"{path}{DELETED_SUFFIX}")
        except FileNotFoundError:
            continue  # an index that was never written
        deleted.append(f"{path}{DELETED_SUFFIX}")
    return deleted
