"""A cap on open file descriptors.

A broker has far more files than a process may have open. Every file of a log is a `Handle`, which
opens itself when it is used; `OpenFiles` closes one that was not used lately when there are too
many (second chance: a mark that each use sets and each sweep clears, so a use costs one store).

One thread only. A job for another thread takes `Handle.duplicate()` with it.
"""

from collections import deque
from errno import EMFILE, ENFILE

from barnabas.log.storage import Disk, File


class OpenFiles:
    """The descriptors that the logs of one process share."""

    __slots__ = ("_open", "disk", "limit")

    def __init__(self, disk: Disk, limit: int = 512) -> None:
        self.disk = disk
        self.limit = limit
        self._open: deque[Handle] = deque()

    @property
    def count(self) -> int:
        """How many are open now."""
        return len(self._open)

    def open(self, handle: "Handle", *, create: bool) -> File:
        """Open a handle's file, closing an idle one if there are too many."""
        self._make_room()
        try:
            file = self.disk.open(handle.path, create=create)
        except OSError as error:
            if error.errno not in (EMFILE, ENFILE) or not self._open:
                raise
            # The system allows fewer than we were told: connections need descriptors too.
            self.limit = max(1, len(self._open) * 3 // 4)
            self._make_room()
            file = self.disk.open(handle.path, create=create)
        self._open.append(handle)
        return file

    def _make_room(self) -> None:
        waiting = self._open
        while len(waiting) >= self.limit:
            oldest = waiting.popleft()
            if oldest.used:
                oldest.used = False
                waiting.append(oldest)
            else:
                oldest.drop()

    def forget(self, handle: "Handle") -> None:
        self._open.remove(handle)


class Handle:
    """One file by its path, open or not."""

    __slots__ = ("_file", "_files", "path", "used")

    def __init__(self, files: OpenFiles, path: str) -> None:
        self._files = files
        self._file: File | None = None
        self.path = path
        self.used = False
        """Used again since it was opened or last swept over."""

    def file(self) -> File:
        """The open file; it must exist. Use it at once and do not keep it."""
        file = self._file
        if file is None:
            return self._open(create=False)
        self.used = True
        return file

    def create(self) -> File:
        """The open file, made if it is not there."""
        return self._open(create=True) if self._file is None else self._file

    def _open(self, *, create: bool) -> File:
        self._file = self._files.open(self, create=create)
        return self._file

    def duplicate(self) -> File:
        """A private file for another thread; its owner closes it."""
        return self.file().duplicate()

    def drop(self) -> None:
        """Close the descriptor; `OpenFiles` calls this when it takes it back."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        if self._file is not None:
            self._files.forget(self)
            self.drop()
