"""Errors of a partition on disk."""

from collections.abc import Iterator
from contextlib import contextmanager


class StorageError(Exception):
    """The disk refused. Nothing of the operation took effect; reads of stored data go on."""


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Turn the disk's OSError into a StorageError that begins with `what`."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{what}: {error}") from error


class RecordsLost(StorageError):  # noqa: N818 - reads as the fact it states
    """The record at an offset is lost because the disk is damaged."""


class BatchDamaged(StorageError):  # noqa: N818 - reads as the fact it states
    """The stored bytes are not the batch that was appended; another replica may have it."""


class OffsetOutOfRange(Exception):  # noqa: N818 - Kafka's own name of this outcome
    """An offset outside [log_start_offset, log_end_offset]."""

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(f"offset {offset} is outside {log_start_offset} to {log_end_offset}")
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class DirectoryLocked(Exception):  # noqa: N818 - reads as the fact it states
    """Another live process holds the data directory."""

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(f"data directory {path} is in use by process {holder or '(unknown)'}")
        self.path = path
        self.holder = holder


class DirectoryMismatch(Exception):  # noqa: N818 - reads as the fact it states
    """The data directory was written by another node, cluster or format."""
