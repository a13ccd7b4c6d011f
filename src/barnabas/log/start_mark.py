"""Where the segments of a log start, as the name of an empty file: `<offset>.start`.

Retention deletes the oldest segments. `log.state` has the log start offset too, but it is not
synced while the log is open: a power loss may bring an older one back or tear it, and then a first
segment that was lost could not be told from one that was deleted. A name can't be torn. The mark
moves before segments are renamed, and is synced with its directory before they are unlinked. A log
without a mark starts at 0.
"""

from collections.abc import Iterable

from barnabas.log.segment.file_names import START_SUFFIX, offset_in, segment_path
from barnabas.log.storage import Disk


def marked_start(names: Iterable[str]) -> int:
    """The start that the files of a directory tell."""
    offsets = (offset_in(name, START_SUFFIX) for name in names)
    return max((offset for offset in offsets if offset is not None), default=0)


def move_mark(disk: Disk, directory: str, former: int, offset: int) -> None:
    """Mark another start than the former one, in one step. Raises OSError."""
    if former == offset:
        return
    path = segment_path(directory, offset, START_SUFFIX)
    former_path = segment_path(directory, former, START_SUFFIX)
    if former == 0:
        disk.open(path, create=True).close()
    elif offset == 0:
        disk.unlink(former_path)
    else:
        disk.rename(former_path, path)
