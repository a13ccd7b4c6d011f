"""Changes that a follower makes to its log as its leader's responses require.

All functions raise `StorageError` if the disk fails.
"""

import logging

from barnabas.broker.replica import replica_truncation
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.replica_doubt import fetch_position
from barnabas.log import DeleteJob, Log, checked_batches
from barnabas.log.offset_assignment import Batches
from barnabas.replication import EpochEnd, follower_high_watermark, truncation_offset
from barnabas.wire.primitives import Buffer

logger = logging.getLogger(__name__)


def append_fetched(
    partition: Partition,
    records: Buffer,
    now_ms: int,
    leader_epochs: list[tuple[int, int]] | None = None,
) -> bool:
    """Append what the leader has sent. Raises `CorruptBatch` as well.

    False, with nothing appended, if the leader has to be asked for `leader_epochs` first: where
    its epochs began.
    """
    log = partition.log
    view, batches = checked_batches(
        memoryview(records), log.log_end_offset, log.latest_epoch, partition.leader_epoch
    )
    if batches:
        if leader_epochs is None and _begins_epoch_behind_gap(log, batches):
            return False
        if partition.watchers:
            log.reader.expect_read_at_end()
        end = log.log_end_offset
        known = [(epoch, max(start, end)) for epoch, start in leader_epochs or ()]
        log.appender.append_as_follower(view, batches, now_ms, known)
    return True


def _begins_epoch_behind_gap(log: Log, batches: Batches) -> bool:
    """Whether compaction has removed what was before the first batch of an epoch."""
    latest_epoch = log.latest_epoch
    if batches[-1][1].partition_leader_epoch <= latest_epoch:
        return False
    end_offset = log.log_end_offset
    for _, header in batches:
        if end_offset < header.base_offset and header.partition_leader_epoch > latest_epoch:
            return True
        end_offset, latest_epoch = header.next_offset, header.partition_leader_epoch
    return False


def take_over_bounds(
    partition: Partition, high_watermark: int, log_start_offset: int
) -> DeleteJob | None:
    """Adopt the leader's high watermark and log start; returns the files to delete."""
    log = partition.log
    partition.advance_high_watermark(
        follower_high_watermark(partition.high_watermark, high_watermark, log.log_end_offset)
    )
    start = min(log_start_offset, log.log_end_offset)
    return log.retention.delete_records_before(start) if start > log.log_start_offset else None


def truncate(partition: Partition, diverging: EpochEnd) -> None:
    """Truncate what the leader does not have, and set it aside.

    The high watermark that a follower knows is a lower bound: after a restart it is an old one, so
    it does not tell which of the truncated records were acknowledged.
    """
    log = partition.log
    replica_truncation.truncate_suspect(partition)
    offset = truncation_offset(log.end_offset_for_epoch, log.log_end_offset, diverging)
    lost = partition.high_watermark - offset
    replica_truncation.truncate_to(partition, offset, keep=True)
    if lost > 0:
        logger.error(
            "%s-%d: the leader lacks %d committed records; they are kept in set-aside",
            partition.topic,
            partition.index,
            lost,
        )


def has_nothing_in_common(partition: Partition, leader_log_start_offset: int) -> bool:
    """Whether no record before the fetch position can be compared with the leader's, which calls
    that position out of range.

    A leader whose log starts behind it has deleted what comes next. Any other leader has records to
    compare with, and an offset alone is no reason to discard records. But if it is unknown of which
    epoch the record before is, there may be none: all of them were compacted away.
    """
    log = partition.log
    offset, epoch = fetch_position(partition)
    is_empty = log.log_start_offset == log.log_end_offset > 0
    return (
        leader_log_start_offset > offset
        or is_empty
        or (epoch < 0 and not log.has_records_before(offset))
    )


def start_over(partition: Partition, offset: int) -> None:
    """Copy the log again from the start of the leader's, `offset`. What is here is set aside."""
    logger.info(
        "%s starts over: its leader has removed tombstones that it has not seen", partition.name
    )
    _restart(partition, offset, keep=True)


def start_at(partition: Partition, offset: int) -> None:
    """Restart the log, empty, where the leader's log starts."""
    logger.info(
        "%s-%d starts again at %d, like its leader", partition.topic, partition.index, offset
    )
    lost = partition.high_watermark - offset
    keep = lost > 0 or partition.is_recovering or partition.doubt.suspect_from is not None
    _restart(partition, offset, keep=keep)


def _restart(partition: Partition, offset: int, *, keep: bool) -> None:
    doubt = partition.doubt
    if doubt.suspect_from is not None:
        replica_truncation.expect_refetch(partition)
    replica_truncation.start_at(partition, offset, keep=keep)
    partition.log.suspects.clear()
    doubt.suspect_from, doubt.awaits_leader = None, False
