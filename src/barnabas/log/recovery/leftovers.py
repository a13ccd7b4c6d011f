"""Removing files that an interrupted operation has left in a partition's directory."""

from barnabas.log.segment.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
    offset_in,
)
from barnabas.log.storage import Disk

_DELETED_LOG = f"{LOG_SUFFIX}{DELETED_SUFFIX}"
_TEMPORARY_SUFFIX = ".tmp"  # of `Disk.replace_file`


def remove_leftovers(disk: Disk, directory: str, listing: dict[str, int]) -> None:
    """Remove incomplete and deleted files, and indexes without a segment; also from `listing`."""
    if any(name.endswith(_DELETED_LOG) for name in listing):
        disk.sync_directory(directory)  # as `DeleteJob` does: the log's start mark may be new
    for name in list(listing):
        is_leftover = name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, _TEMPORARY_SUFFIX))
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
            base_offset = offset_in(name, suffix)
            if base_offset is not None:
                is_leftover = file_name(base_offset) not in listing
        if is_leftover:
            disk.unlink(f"{directory}/{name}")
            del listing[name]


def usable_snapshots(
    disk: Disk, directory: str, listing: dict[str, int], end_offset: int
) -> list[int]:
    """The offsets of producer snapshots, in order; removes those behind the log's end."""
    usable = []
    for name in listing:
        offset = offset_in(name, SNAPSHOT_SUFFIX)
        if offset is None:
            continue
        if offset <= end_offset:
            usable.append(offset)
        else:
            disk.unlink(f"{directory}/{name}")
    return sorted(usable)
