"""Syncing a log on another thread than the one that appends to it."""

from collections.abc import Sequence

from barnabas.log.segment.file_names import METADATA_FILE
from barnabas.log.segment.segment import Segment
from barnabas.log.storage import Disk, File

FLUSH_MARK = "acknowledged-when-flushed"
"""A file in a log's directory; see `flusher`."""


class FlushJob:
    """The syncs that make everything below `end_offset` durable.

    It has its own handles, so segments may roll, be deleted or lose their handle meanwhile. Files
    are synced first, then the file `mark` is made, if one is given, and the directories are synced.
    With directories, this is the first sync since the log was opened: `partition.metadata` in the
    first of them is synced too, since records without it are those of an unknown topic.
    """

    __slots__ = ("_directories", "_disk", "_files", "end_offset", "end_position", "error", "mark")

    def __init__(
        self,
        disk: Disk,
        files: list[File],
        directories: list[str],
        end_offset: int,
        end_position: int,
        mark: str = "",
    ) -> None:
        self._disk = disk
        self._files = files
        self._directories = directories
        self.end_offset = end_offset
        self.end_position = end_position
        """The position of `end_offset` in the active segment."""
        self.mark = mark
        self.error: OSError | None = None

    def run(self) -> None:
        """On any thread. It never raises: `LogFlusher.complete` reads `error`."""
        try:
            for file in self._files:
                file.sync()
            if self._directories:
                self._sync_topic_id(self._directories[0])
            if self.mark:
                self._disk.open(self.mark, create=True).close()
            for directory in self._directories:
                self._disk.sync_directory(directory)
        except OSError as error:
            self.error = error
        finally:
            for file in self._files:
                file.close()

    def _sync_topic_id(self, directory: str) -> None:
        try:
            file = self._disk.open(f"{directory}/{METADATA_FILE}")
        except FileNotFoundError:  # the metadata log has none, and a deleted topic's is gone
            return
        try:
            file.sync()
        finally:
            file.close()


def flush_job(
    disk: Disk,
    segments: Sequence[Segment],
    flushed_offset: int,
    end_offset: int,
    directories: list[str],
    mark: str = "",
) -> FlushJob:
    """The job that syncs the segments from `flushed_offset` to `end_offset`. May raise OSError."""
    active = segments[-1] if segments else None
    files: list[File] = []
    try:
        for segment in segments:
            if segment.next_offset <= flushed_offset or segment.base_offset >= end_offset:
                continue
            files.append(segment.log.duplicate())
            if segment.aborted.spilled:
                files.append(segment.aborted.handle.duplicate())
            if segment is not active:
                indexes = (segment.offsets, segment.times)
                files += [index.handle.duplicate() for index in indexes if index.spilled]
    except OSError:
        for file in files:
            file.close()
        raise
    end_position = active.size if active is not None else 0
    return FlushJob(disk, files, directories, end_offset, end_position, mark)
