"""Copying a range of a file, also over itself."""

from barnabas.log.storage import Disk, File

_CHUNK = 4 * 1024 * 1024


def copy_range(disk: Disk, source: File, start: int, end: int, path: str) -> None:
    """Write the bytes from `start` up to `end` to the file at `path`, and sync it.

    Raises OSError.
    """
    target = disk.open(path, create=True)
    try:
        target.truncate(0)
        for position in range(start, end, _CHUNK):
            data = source.read(min(_CHUNK, end - position), position)
            target.write(data, position - start)
        target.sync()
    finally:
        target.close()


def rewrite(file: File, start: int, end: int) -> None:
    """Write the bytes from `start` up to `end` again, so that the next sync writes them.

    Raises OSError.
    """
    for position in range(start, end, _CHUNK):
        file.write(file.read(min(_CHUNK, end - position), position), position)


def write_file_again(disk: Disk, path: str) -> None:
    """See `rewrite`."""
    file = disk.open(path)
    try:
        rewrite(file, 0, file.size())
    finally:
        file.close()
