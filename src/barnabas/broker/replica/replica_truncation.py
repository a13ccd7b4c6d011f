"""Truncates the log of a replica, and its high watermark with it.

Records that a replica has acknowledged, or that may be all that is left of a partition, are set
aside in a directory (`keep`) instead of deleted.
"""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.replica.partition import Partition

logger = logging.getLogger(__name__)


def truncate_to(partition: "Partition", offset: int, *, keep: bool) -> None:
    """Truncate the log, and the high watermark with it; `keep` sets the removed records aside.

    Raises `StorageError`.
    """
    log = partition.log
    before = log.log_end_offset
    has_any = offset < before and log.size_bytes > 0
    directory = partition.host.set_aside(partition) if keep and has_any else ""
    try:
        log.truncate_to(offset, set_aside=directory)
    finally:  # the disk may have failed half-way
        partition.high_watermark = min(partition.high_watermark, log.log_end_offset)
        partition.host.moved(partition)
        partition.flush_waits.release()  # what they wait for may be gone
    if directory:
        partition.host.truncated(partition.name, log.log_end_offset, before, directory)


def start_at(partition: "Partition", offset: int, *, keep: bool) -> None:
    """Discard the log and restart it, empty, at `offset`. Raises `StorageError`."""
    has_any = partition.log.size_bytes > 0
    directory = partition.host.set_aside(partition) if keep and has_any else ""
    partition.log.truncate_fully_and_start_at(offset, set_aside=directory)
    partition.high_watermark = offset
    partition.host.moved(partition)
    partition.flush_waits.release()
    if directory:
        logger.warning(
            "%s starts again at %d; its former records are in %s",
            partition.name,
            offset,
            directory,
        )


def expect_refetch(partition: "Partition") -> None:
    """The replica does not lead before it has again what it has now; see `ReplicaDoubt`."""
    doubt = partition.doubt
    doubt.refetch_upto = max(doubt.refetch_upto, partition.log.log_end_offset)
    doubt.committed_upto = max(doubt.committed_upto, partition.high_watermark)


def truncate_suspect(partition: "Partition") -> None:
    """Truncate where the log is in doubt; another replica leads, and has answered.

    Raises `StorageError`.
    """
    doubt = partition.doubt
    if doubt.suspect_from is not None:
        expect_refetch(partition)
        start = partition.log.log_start_offset
        if doubt.suspect_from < start:
            # Some were deleted since. The log must not end before its start: `fetch_position` has
            # told the leader that it has everything below.
            start_at(partition, start, keep=True)
        else:
            truncate_to(partition, doubt.suspect_from, keep=True)
        partition.log.suspects.clear()
        doubt.suspect_from, doubt.awaits_leader = None, False


def truncate_damaged(partition: "Partition") -> None:
    """Truncate at the first damaged record: the replica was elected for what is before it, see
    `Partition.log_end`."""
    first_lost = partition.log.lost_ranges.first_offset
    if first_lost is not None:
        truncate_to(partition, first_lost, keep=True)
