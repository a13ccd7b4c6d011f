"""Copying a range of a file."""

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
