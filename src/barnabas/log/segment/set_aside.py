"""Keeping what is cut off a log, for people: the segments, or parts of them, in a directory."""

from barnabas.log.segment.file_names import LOG_SUFFIX, segment_path
from barnabas.log.segment.segment import Segment
from barnabas.log.storage import Disk

_CHUNK = 4 * 1024 * 1024


def keep_part(disk: Disk, segment: Segment, position: int, offset: int, directory: str) -> None:
    """Copy a segment from `position` on, where `offset` is, to the directory. Raises OSError."""
    if position >= segment.size:
        return
    source = segment.log.file()
    target = disk.open(segment_path(directory, offset), create=True)
    try:
        target.truncate(0)
        for at in range(position, segment.size, _CHUNK):
            data = source.read(min(_CHUNK, segment.size - at), at)
            target.write(data, at - position)
        target.sync()
    finally:
        target.close()


def keep_segment(disk: Disk, segment: Segment, directory: str) -> None:
    """Move a closed segment to the directory, without its indexes. Raises OSError."""
    disk.rename(segment.log.path, f"{directory}/{segment.base_offset:020d}{LOG_SUFFIX}")
