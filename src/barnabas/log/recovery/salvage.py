"""Saving what stands behind a damaged place of a segment.

The batches behind it go to a segment of their own, and the damaged bytes to a file that nobody
reads but people (`<first lost offset>.damaged`); then the segment is cut at the place. Whatever
crash comes between finds all of it again, or has it done already.
"""

from barnabas.log.segment.batch_search import batch_behind
from barnabas.log.segment.file_names import CLEANED_SUFFIX, segment_path
from barnabas.log.segment.scan import Flaw
from barnabas.log.storage import Disk, File

DAMAGED_SUFFIX = ".damaged"
_WINDOW = 4 * 1024 * 1024


def move_out(
    disk: Disk, directory: str, file: File, flaw: Flaw, size: int, first_lost: int
) -> int | None:
    """Bring all from a flaw on to files of their own; the caller cuts the segment then.

    Returns the base offset of the segment that the whole batches behind are in now; None if there
    are none.
    """
    found = batch_behind(file, flaw, size, first_lost)
    end = size if found is None else found.position
    _copy(disk, file, flaw.position, end, segment_path(directory, first_lost, DAMAGED_SUFFIX))
    base_offset = None
    if found is not None:
        base_offset = found.header.base_offset
        path = segment_path(directory, base_offset)
        if not disk.exists(path):
            _copy(disk, file, found.position, size, f"{path}{CLEANED_SUFFIX}")
            disk.rename(f"{path}{CLEANED_SUFFIX}", path)
    disk.sync_directory(directory)
    return base_offset


def _copy(disk: Disk, source: File, start: int, end: int, path: str) -> None:
    target = disk.open(path, create=True)
    try:
        target.truncate(0)
        for position in range(start, end, _WINDOW):
            data = source.read(min(_WINDOW, end - position), position)
            target.write(data, position - start)
        target.sync()
    finally:
        target.close()
