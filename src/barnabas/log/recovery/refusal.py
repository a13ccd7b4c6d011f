"""Refusing to open a log that has lost synced records: the metadata log has no other copy here.

A crash can tear what was not synced, and nothing before it. `refuse_loss` gets the offset up to
which the log was synced. `refuse_damage` is for a log that was synced after each batch: recovery
may cut off a flaw at its very end, and nowhere else; where synced bytes are missing, or whole
batches stand behind a flaw, a cut would remove records. Damage to the last batch can't be
distinguished from a torn append.
"""

from barnabas.log.errors import StorageError, storage_errors
from barnabas.log.segment.batch_search import find_batch
from barnabas.log.segment.file_names import LOG_SUFFIX, offset_in, segment_path
from barnabas.log.segment.scan import Flaw, scan_batches
from barnabas.log.state import STATE_FILE, read_state
from barnabas.log.storage import Disk, File


def refuse_loss(disk: Disk, directory: str, start_offset: int, synced_offset: int) -> None:
    """Raise `StorageError` unless every batch between these offsets is there, and whole.

    Changes nothing.
    """
    if synced_offset <= start_offset:
        return
    with storage_errors(f"cannot read {directory}"):
        numbers = (offset_in(name, LOG_SUFFIX) for name in disk.list_files(directory))
        offset = start_offset
        for base_offset in sorted(number for number in numbers if number is not None):
            path = segment_path(directory, base_offset)
            file = disk.open(path)
            try:
                offset, flaw = _whole_up_to(file, offset)
            finally:
                file.close()
            if offset >= synced_offset:
                return
            if flaw is not None:
                raise StorageError(
                    f"{path} is damaged at position {flaw.position}: {flaw.reason}; nothing "
                    "was changed, restore the file from a backup"
                )
    raise StorageError(
        f"{directory} ends at offset {offset}, but had all up to {synced_offset}; nothing was "
        "changed, restore it from a backup"
    )


def _whole_up_to(file: File, offset: int) -> tuple[int, Flaw | None]:
    """Where a log that ends at `offset` ends with this segment, and the flaw behind that."""
    for found in scan_batches(file, file.size()):
        if isinstance(found, Flaw):
            return offset, found
        if found.flaw is not None:
            return offset, Flaw(found.position, found.flaw)
        if found.header.base_offset > offset:
            return offset, Flaw(found.position, f"it begins behind offset {offset}")
        offset = max(offset, found.header.next_offset)
    return offset, None


def refuse_damage(disk: Disk, directory: str) -> None:
    """Raise `StorageError` if opening this log would lose a record that was synced.

    Changes nothing. Segments that `log.state` lists with their size are trusted.
    """
    with storage_errors(f"cannot read {directory}"):
        if not disk.exists(directory):
            return
        listing = disk.list_files(directory)
        state = read_state(disk, directory) if STATE_FILE in listing else None
        listed = {
            segment_path(directory, base_offset): segment.size
            for base_offset, segment in (state.segments if state else {}).items()
        }
        sizes = {
            f"{directory}/{name}": size
            for name, size in sorted(listing.items())
            if offset_in(name, LOG_SUFFIX) is not None
        }
        for path, synced in listed.items():
            if synced and path not in sizes:
                raise StorageError(f"{path} is missing; restore it from a backup")
        for path, size in sizes.items():
            synced = listed.get(path, 0)
            if size == synced:
                continue
            damage = _damage(disk, path, size, synced, is_last=path == max(sizes))
            if damage is not None:
                raise StorageError(
                    f"{path} is damaged at position {damage.position}: {damage.reason}; nothing "
                    "was changed, restore the file from a backup"
                )


def _damage(disk: Disk, path: str, size: int, synced: int, *, is_last: bool) -> Flaw | None:
    """The flaw of a segment, unless it is a torn tail."""
    file = disk.open(path)
    try:
        flaw = _first_flaw(file, size)
        if flaw is None:
            short = size < synced
            return Flaw(size, f"the file ends, and had {synced} bytes") if short else None
        torn = (
            is_last
            and flaw.position >= synced
            and find_batch(file, flaw.position + 1, size) is None
        )
        return None if torn else flaw
    finally:
        file.close()


def _first_flaw(file: File, size: int) -> Flaw | None:
    for found in scan_batches(file, size):
        if isinstance(found, Flaw):
            return found
        if found.flaw is not None:
            return Flaw(found.position, found.flaw)
    return None
