# ruff: noqa: PTH103, PTH104, PTH106, PTH108, PTH116, PTH120, PTH123
"""The seam between a log and the disk: everything that `log/` asks of the operating system.

`Disk` and `File` are the whole list; `OsDisk` is the real one. A simulator puts a disk in their
place that loses what was not synced, tears writes or is full. Paths are strings. Everything fails
with `OSError`, and a `File.write` that fails may have written any part of its bytes.

What survives a crash of the machine: the bytes of a file up to its last `sync`, and the names in a
directory (files created, renamed, unlinked) up to its last `sync_directory`. A `rename` over an
existing name is atomic. A crash of the process alone loses nothing that was written.

Left out on purpose: mmap (a fault on a bad sector is a signal, not an exception) and append mode
(the log knows its own end). pathlib is left out for speed: opening 2,000 partitions goes through
here.
"""

import errno
import fcntl
import os
from contextlib import suppress
from typing import NamedTuple, Protocol

from barnabas.log.errors import DirectoryLocked

Buffer = bytes | bytearray | memoryview


class File(Protocol):
    """An open file, read and written at positions."""

    def read(self, size: int, at: int) -> bytes:
        """Up to `size` bytes from `at`; fewer only where the file ends."""

    def write(self, data: Buffer, at: int) -> None:
        """All of `data` at `at`, or OSError."""

    def sync(self) -> None:
        """Bring the file's bytes and size to stable storage."""

    def truncate(self, size: int) -> None: ...

    def size(self) -> int: ...

    def duplicate(self) -> "File":
        """A second handle on the same file, which outlives this one and the file's name."""

    def close(self) -> None: ...


class Lock(Protocol):
    """A held lock on a directory."""

    def release(self) -> None: ...


class Disk(Protocol):
    """Files by path. Its methods may be called from any thread."""

    def open(self, path: str, *, create: bool = False) -> File: ...

    def read_file(self, path: str) -> bytes: ...

    def replace_file(
        self, path: str, data: bytes, *, sync: bool = False, private: bool = False
    ) -> None:
        """Give the file this content as one atomic step; the old content stays if it fails.

        A private file can be read by its owner only.
        """

    def list_files(self, directory: str) -> dict[str, int]:
        """Name and size of every regular file."""

    def list_directories(self, directory: str) -> list[str]: ...

    def make_directory(self, path: str, *, private: bool = False) -> None:
        """With its parents; fine if it is there already. With `private`, others can't read it if
        it is new."""

    def sync_directory(self, path: str) -> None: ...

    def exists(self, path: str) -> bool:
        """OSError if the disk can't tell: a file that can't be read is not one that is gone."""

    def modified_ms(self, path: str) -> int: ...

    def rename(self, path: str, new_path: str) -> None: ...

    def unlink(self, path: str) -> None:
        """Fine if it is gone already."""

    def remove_directory(self, path: str) -> None:
        """An empty one; fine if it is gone already."""

    def lock(self, directory: str) -> Lock:
        """Lock a directory against other processes, or raise DirectoryLocked."""


class OsFile:
    """A file descriptor."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def read(self, size: int, at: int) -> bytes:
        data = os.pread(self._fd, size, at)
        if len(data) == size or not data:
            return data
        return self._read_rest(data, size, at)

    def _read_rest(self, data: bytes, size: int, at: int) -> bytes:
        # One system call stops at 2 GiB and may stop earlier; only an empty answer is an end.
        parts = [data]
        got = len(data)
        while got < size:
            data = os.pread(self._fd, size - got, at + got)
            if not data:
                break
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def write(self, data: Buffer, at: int) -> None:
        size = len(data)
        written = os.pwrite(self._fd, data, at)
        if written != size:
            view = memoryview(data)
            while written < size:
                written += os.pwrite(self._fd, view[written:], at + written)

    def sync(self) -> None:
        # macOS only empties the drive's own cache when asked so.
        full_sync = getattr(fcntl, "F_FULLFSYNC", None)
        if full_sync is not None:
            fcntl.fcntl(self._fd, full_sync)
        else:
            os.fdatasync(self._fd)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def duplicate(self) -> "OsFile":
        return OsFile(os.dup(self._fd))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class _OsLock(NamedTuple):
    fds: list[int]

    def release(self) -> None:
        for fd in self.fds:
            os.close(fd)


class OsDisk:
    """The file system of this machine."""

    def open(self, path: str, *, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return OsFile(os.open(path, flags, 0o644))

    def read_file(self, path: str) -> bytes:
        with open(path, "rb", buffering=0) as file:
            return file.readall()

    def replace_file(
        self, path: str, data: bytes, *, sync: bool = False, private: bool = False
    ) -> None:
        draft = f"{path}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        with open(os.open(draft, flags, 0o600 if private else 0o666), "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.rename(draft, path)
        if sync:
            self.sync_directory(os.path.dirname(path))

    def list_files(self, directory: str) -> dict[str, int]:
        sizes = {}
        with os.scandir(directory) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # deleted while we look
                    if entry.is_file():
                        sizes[entry.name] = entry.stat().st_size
        return sizes

    def list_directories(self, directory: str) -> list[str]:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def make_directory(self, path: str, *, private: bool = False) -> None:
        os.makedirs(path, mode=0o700 if private else 0o777, exist_ok=True)

    def sync_directory(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def exists(self, path: str) -> bool:
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def rename(self, path: str, new_path: str) -> None:
        os.rename(path, new_path)

    def unlink(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return

    def remove_directory(self, path: str) -> None:
        try:
            os.rmdir(path)
        except FileNotFoundError:
            return

    def lock(self, directory: str) -> Lock:
        fds = [os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        try:
            _lock_directory(fds[0])
            # For people to read, and for earlier releases, which lock nothing else.
            name = f"{directory}/.lock"
            fds.append(os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
            fcntl.flock(fds[1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(OSError):  # a full disk must not prevent a start
                os.ftruncate(fds[1], 0)
                os.pwrite(fds[1], f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            for fd in fds:
                os.close(fd)
            if isinstance(error, BlockingIOError):
                raise DirectoryLocked(directory, _holder(directory)) from None
            raise
        return _OsLock(fds)


def _lock_directory(fd: int) -> None:
    """Lock the directory itself: unlike `.lock` it can't be deleted while it holds data."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # A network file system may lock only what is open for writing, which no directory is.
        if error.errno not in (errno.EBADF, errno.EINVAL, errno.ENOTSUP):
            raise


def _holder(directory: str) -> str:
    with suppress(FileNotFoundError), open(f"{directory}/.lock", "rb") as file:
        return file.read(32).decode("ascii", "replace").strip()
    return ""
