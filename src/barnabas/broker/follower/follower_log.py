"""Changes that a follower makes to its log as its leader's responses require.

All functions raise `StorageError` if the disk fails.
"""

import logging

from barnabas.broker.replica import replica_truncation
from barnabas.broker.replica.partition import Partition
from barnabas.log import DeleteJob, checked_batches
from barnabas.replication import EpochEnd, follower_high_watermark, truncation_offset
from barnabas.wire.primitives import Buffer

logger = logging.getLogger(__name__)


def append_fetched(partition: Partition, records: Buffer, now_ms: int) -> None:
    """Append what the leader has sent. Raises `CorruptBatch` as well."""
    log = partition.log
    view, batches = checked_batches(
        memoryview(records), log.log_end_offset, log.latest_epoch, partition.leader_epoch
    )
    if batches:
        if partition.watchers:
            log.reader.expect_read_at_end()
        log.appender.append_as_follower(view, batches, now_ms)


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


def start_at(partition: Partition, offset: int) -> None:
    """Restart the log, empty, where the leader's log starts."""
    logger.info(
        "%s-%d starts again at %d, like its leader", partition.topic, partition.index, offset
    )
    doubt = partition.doubt
    lost = partition.high_watermark - offset
    keep = lost > 0 or partition.is_recovering or doubt.suspect_from is not None
    replica_truncation.start_at(partition, offset, keep=keep)
    doubt.suspect_from, doubt.awaits_leader = None, False
