"""Files in a log's directory that tell of records which are no longer in the log.

A log that has lost its end at the end of a batch, or with a whole segment, looks complete. But
other files outlive the loss:

- a producer snapshot is named by an offset that the log had reached. It is written when a segment
  begins there, or when the log is closed, which `log.state` says as well;
- an index is written for its segment, and has no entry behind the segment's end;
- `log.state` names the segments that were there.

Only a loss that no power failure explains can be seen in this way: names and unsynced files
survive one in any combination. A truncation removes the files that would tell of what it cuts,
before it cuts.
"""

from collections.abc import Collection
from typing import NamedTuple

from barnabas.log.segment.file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    file_name,
    offset_in,
)
from barnabas.log.segment.scan import Flaw, scan_batches
from barnabas.log.segment.sparse_index import OFFSET_ENTRY
from barnabas.log.storage import Disk, File


class Witnesses(NamedTuple):
    """What was found before the segments were loaded, which rewrites their indexes."""

    snapshots: Collection[int] = ()
    segments: Collection[int] = ()
    """Base offsets of segments that have no file."""
    last: int | None = None
    """Base offset of the last segment that has one."""
    has_long_index: bool = False
    """The index of the last segment has an entry behind its end."""

    def expected_end(self, end: int, *, is_closed: bool) -> int:
        """Where a log that ends at `end` ended at least once; 0 if no file tells of more.

        `is_closed`: the snapshot there is one of a log that was closed.
        """
        reached = [offset for offset in self.snapshots if offset > end]
        reached += [offset + 1 for offset in self.segments if offset >= end]
        if self.has_long_index:
            reached.append(end + 1)
        if end in self.snapshots and not is_closed:
            reached.append(end + 1)  # a segment began there
        return max(reached, default=0)


def find_witnesses(
    disk: Disk, directory: str, listing: dict[str, int], untrusted: Collection[int]
) -> Witnesses:
    """`untrusted`: segments that `log.state` names in addition to those that it lists."""
    snapshots = [offset_in(name, SNAPSHOT_SUFFIX) for name in listing]
    present = [offset for name in listing if (offset := offset_in(name, LOG_SUFFIX)) is not None]
    indexed = [
        offset
        for name, size in listing.items()
        if size and (offset := offset_in(name, INDEX_SUFFIX)) is not None
    ]
    last = max(present, default=None)
    return Witnesses(
        {offset for offset in snapshots if offset is not None and offset not in present},
        {*untrusted, *indexed}.difference(present),
        last,
        last is not None and last in indexed and _is_long(disk, directory, listing, last),
    )


def end_told_by_indexes(disk: Disk, directory: str, witnesses: Witnesses) -> int:
    """Where the log ended at least, according to the witnesses that an opening removes before it
    knows where the log ends now; 0 if there are none.
    """
    last = -1 if witnesses.last is None else witnesses.last
    end = max((offset + 1 for offset in witnesses.segments if offset > last), default=0)
    if witnesses.has_long_index:
        file = disk.open(f"{directory}/{file_name(last)}")
        try:
            end = max(end, _end_of(file, last) + 1)
        finally:
            file.close()
    return end


def _end_of(file: File, base_offset: int) -> int:
    """Where the whole batches of a segment end."""
    end = base_offset
    for found in scan_batches(file, file.size()):
        if isinstance(found, Flaw) or found.flaw is not None:
            break
        end = found.header.next_offset
    return end


def _is_long(disk: Disk, directory: str, listing: dict[str, int], base_offset: int) -> bool:
    name = file_name(base_offset, INDEX_SUFFIX)
    size = listing[name]
    file = disk.open(f"{directory}/{name}")
    try:
        entry = file.read(OFFSET_ENTRY.size, size - size % OFFSET_ENTRY.size - OFFSET_ENTRY.size)
    finally:
        file.close()
    if len(entry) < OFFSET_ENTRY.size:
        return False
    _, position = OFFSET_ENTRY.unpack(entry)
    return bool(position >= listing[file_name(base_offset)])
