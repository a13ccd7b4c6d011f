"""Where a backup is kept: a folder of this machine, or of an object store.

An object appears as a whole or not at all, in both.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from barnabas.errors import InvalidArgument

OBJECT_STORE = "s3://"
_UNFINISHED = ".tmp"
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


class StoredFile(NamedTuple):
    """A file, by its name in the store."""

    name: str
    size: int


class BackupStore(Protocol):
    """What is done with a store; names have `/` between their parts."""

    @property
    def description(self) -> str:
        """Where it is, without secrets."""

    def read(self, name: str) -> bytes | None:
        """All of a file; None if there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, instead of the one that is there."""

    def delete(self, name: str) -> None:
        """Delete a file; it may be gone already."""

    def files(self, below: str) -> list[StoredFile]:
        """All files below a folder of the store."""


class FolderStore:
    """A folder, on a disk that survives the cluster.

    Files and new folders are for their owner only: a backup has all records and settings, which a
    secured cluster shows to few.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def description(self) -> str:
        return str(self._folder)

    def read(self, name: str) -> bytes | None:
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        self._make_folders(path.parent)
        unfinished = path.with_name(path.name + _UNFINISHED)
        with os.fdopen(_open_private(unfinished), "wb") as file:
            with suppress(PermissionError):  # a file system that has no modes
                os.fchmod(file.fileno(), _FILE_MODE)  # one that was left behind may have another
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        _sync_folders(path.parent, self._folder)

    def _make_folders(self, folder: Path) -> None:
        """Those of the backup that are missing."""
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        inside = folder.relative_to(self._folder).parts
        for depth in range(len(inside) + 1):
            self._folder.joinpath(*inside[:depth]).mkdir(_FOLDER_MODE, exist_ok=True)

    def delete(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def files(self, below: str) -> list[StoredFile]:
        found = []
        for parent, _, names in os.walk(self._folder / below):
            for name in names:
                path = Path(parent, name)
                with suppress(FileNotFoundError):  # another process has just deleted or renamed it
                    relative = path.relative_to(self._folder).as_posix()
                    found.append(StoredFile(relative, path.stat().st_size))
        return sorted(found)


def _open_private(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE)


def _sync_folders(folder: Path, top: Path) -> None:
    """Make the names of new files and folders survive a power failure."""
    while True:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if folder == top:
            return
        folder = folder.parent


class ObjectBackupStore:
    """A folder of a bucket."""

    def __init__(self, url: str) -> None:
        from barnabas.object_store import ObjectStore

        self._store = ObjectStore(url)
        self._store.check()

    @property
    def description(self) -> str:
        return self._store.description

    def read(self, name: str) -> bytes | None:
        return self._store.read(name)

    def write(self, name: str, content: bytes) -> None:
        self._store.write(name, content)

    def delete(self, name: str) -> None:
        self._store.delete(name)

    def files(self, below: str) -> list[StoredFile]:
        return [StoredFile(each.name, each.size) for each in self._store.list(below)]


def open_store(place: str) -> BackupStore:
    """The store at a path, or at `s3://bucket/folder`. Raises `InvalidArgument`."""
    if place.startswith(OBJECT_STORE):
        try:
            return ObjectBackupStore(place)
        except ImportError as missing:
            raise InvalidArgument(str(missing)) from missing
    if "://" in place:
        scheme = place.partition("://")[0]
        raise InvalidArgument(f"unknown kind of store {scheme}://; use a folder or s3://bucket/x")
    return FolderStore(Path(place).absolute())
