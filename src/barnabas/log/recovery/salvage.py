"""Saving the batches that stand behind a damaged place of a segment.

The batches behind it become a segment, the damaged bytes go to `set_aside`, and then the caller
cuts the segment at the place. A crash in between leaves the segment as it was, to be salvaged
again, or the new segment next to it.
"""

from barnabas.log.file_copy import copy_range
from barnabas.log.segment.batch_search import batch_behind
from barnabas.log.segment.file_names import CLEANED_SUFFIX, segment_path
from barnabas.log.segment.scan import Flaw
from barnabas.log.set_aside import SetAsideReason, set_aside_path, sync_set_aside
from barnabas.log.storage import Disk, File

_BYTES_SUFFIX = ".bytes"


def salvage(
    disk: Disk, directory: str, now_ms: int, file: File, flaw: Flaw, size: int, first_lost: int
) -> int | None:
    """Copy everything from a flaw on to other files; `first_lost` is the offset at the flaw.

    Returns the base offset of the segment that has the whole batches behind the flaw; None if
    there are none. Raises OSError.
    """
    found = batch_behind(file, flaw, size, first_lost)
    end = size if found is None else found.position
    aside = set_aside_path(disk, directory, now_ms, SetAsideReason.DAMAGED)
    disk.make_directory(aside)
    damaged_path = segment_path(aside, first_lost, _BYTES_SUFFIX)
    copy_range(disk, file, flaw.position, end, damaged_path)
    sync_set_aside(disk, aside)
    base_offset = None
    if found is not None:
        base_offset = found.header.base_offset
        path = segment_path(directory, base_offset)
        if not disk.exists(path):
            copy_range(disk, file, found.position, size, f"{path}{CLEANED_SUFFIX}")
            disk.rename(f"{path}{CLEANED_SUFFIX}", path)
    disk.sync_directory(directory)
    return base_offset
