"""From where to where a log goes that no broker has open. Reads headers only, and changes nothing.

Checksums are not compared: the next start does that, and says what it finds.
"""

from typing import NamedTuple

from barnabas.log.errors import storage_errors
from barnabas.log.segment.file_names import LOG_SUFFIX, offset_in, segment_path
from barnabas.log.segment.scan import implausible
from barnabas.log.start_mark import marked_start
from barnabas.log.state import read_state
from barnabas.log.storage import Disk
from barnabas.records.batch import HEADER_SIZE, BatchHeader, parse_header

NO_EPOCH = -1


class LogExtent(NamedTuple):
    start_offset: int
    end_offset: int
    latest_epoch: int
    """The leader epoch of the last batch; -1 if there is none."""


def log_extent(disk: Disk, directory: str) -> LogExtent | None:
    """None if there is no such directory. Raises `StorageError`."""
    with storage_errors(f"cannot read {directory}"):
        if not disk.exists(directory):
            return None
        names = disk.list_files(directory)
        found = (offset_in(name, LOG_SUFFIX) for name in names)
        base_offsets = sorted(offset for offset in found if offset is not None)
        state = read_state(disk, directory)
        start = max(marked_start(names), 0 if state is None else state.log_start_offset)
        if not base_offsets:
            return LogExtent(start, start, NO_EPOCH)
        end, epoch = base_offsets[-1], NO_EPOCH
        for base_offset in reversed(base_offsets):  # the newest segments may be empty
            last = _last_batch(disk, segment_path(directory, base_offset))
            if last is not None:
                end, epoch = max(end, last.next_offset), last.partition_leader_epoch
                break
        return LogExtent(max(start, base_offsets[0]), max(start, end), epoch)


def _last_batch(disk: Disk, path: str) -> BatchHeader | None:
    file = disk.open(path)
    try:
        size, position, last = file.size(), 0, None
        while position + HEADER_SIZE <= size:
            header = parse_header(file.read(HEADER_SIZE, position))
            expected = 0 if last is None else last.next_offset
            if implausible(header, expected, size - position) is not None:
                break
            last = header
            position += header.size
        return last
    finally:
        file.close()
