"""Bringing a log to stable storage, without stopping the thread that appends to it."""

from barnabas.log.storage import Disk, File


class FlushJob:
    """The syncs that make everything below `end_offset` durable.

    It holds its own handles, so segments may roll, be deleted or lose their handle meanwhile. Files
    come first and the directories that name them after.
    """

    __slots__ = ("_directories", "_disk", "_files", "end_offset", "error")

    def __init__(
        self, disk: Disk, files: list[File], directories: list[str], end_offset: int
    ) -> None:
        self._disk = disk
        self._files = files
        self._directories = directories
        self.end_offset = end_offset
        self.error: OSError | None = None

    @property
    def syncs_names(self) -> bool:
        return bool(self._directories)

    def run(self) -> None:
        """On any thread. It never raises: `Log.complete_flush` reads `error`."""
        try:
            for file in self._files:
                file.sync()
            for directory in self._directories:
                self._disk.sync_directory(directory)
        except OSError as error:
            self.error = error
        finally:
            for file in self._files:
                file.close()
