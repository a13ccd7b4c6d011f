"""What the metadata image makes of a replica: the leader of its partition, or a follower.

Only the image decides, and each change of it is applied as a whole: what may fail, because of the
disk, comes first.
"""

from typing import TYPE_CHECKING

from barnabas.broker.replica.replica_doubt import (
    adopt_epochs,
    doubt_unless_refetched,
    examine_epochs,
)
from barnabas.broker.replica.replica_truncation import truncate_damaged
from barnabas.metadata.partition_image import RECOVERING, PartitionImage
from barnabas.replication import LeaderState
from barnabas.wire.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.replica.partition import Partition

_SETTLING_MS = 10_000
"""How long a new leader expects batches that were refused before it led: much longer than clients
wait before they retry what was refused."""


def apply_image(partition: "Partition", image: PartitionImage) -> bool:
    """Lead or follow as the image says. True if the leader epoch has changed.

    Raises `StorageError` if the disk keeps it from doing so; then nothing has changed.
    """
    if image.partition_epoch <= partition.partition_epoch:
        return False
    may_lead = _may_lead(partition, image)
    leadership_changed = image.leader_epoch != partition.leader_epoch or (
        may_lead and partition.leading is None
    )
    partition.is_recovering = image.leader_recovery_state == RECOVERING
    if leadership_changed:
        _prepare_log(partition, image, may_lead=may_lead)
    partition.partition_epoch = image.partition_epoch
    partition.replicas, partition.isr = image.replicas, image.isr
    if leadership_changed:
        partition.leader_epoch, partition.leader_id = image.leader_epoch, image.leader
        if may_lead:
            _lead(partition)
        else:
            _follow(partition)
    if partition.leading is not None:
        _assign(partition, partition.leading, image)
    if leadership_changed:
        partition.notify()
    return leadership_changed


def _may_lead(partition: "Partition", image: PartitionImage) -> bool:
    """A replica whose log is in doubt does not become the leader: followers would truncate theirs
    to it."""
    if image.leader != partition.host.node_id:
        return False
    if not partition.is_leader:
        is_unclean = image.leader_recovery_state == RECOVERING
        doubt_unless_refetched(partition, is_unclean=is_unclean)
        if len(image.replicas) > 1:
            examine_epochs(partition, image.leader_epoch)
    return not partition.doubt or partition.is_leader or partition.doubt.must_lead


def _prepare_log(partition: "Partition", image: PartitionImage, *, may_lead: bool) -> None:
    """If the disk fails, the whole change is retried."""
    if may_lead:
        if partition.is_recovering and len(image.replicas) > 1:
            truncate_damaged(partition)
        adopt_epochs(partition, image.leader_epoch)
        if not partition.is_leader:
            partition.log.suspects.clear()


def _lead(partition: "Partition") -> None:
    host, log = partition.host, partition.log
    # Others copy what this log has now, but a hole in it has to be filled by another replica.
    partition.doubt.suspect_from = log.lost_ranges.first_offset
    partition.doubt.awaits_leader = False
    log.appender.begin_epoch(partition.leader_epoch)
    partition.leading = LeaderState(
        host.node_id,
        partition.leader_epoch,
        log.log_end_offset,
        host.replica_lag_time_max_ms,
        host.broker_epoch_of,
        host.clock.steady_ms() + _SETTLING_MS,
        log.log_start_offset,
    )


def _follow(partition: "Partition") -> None:
    if partition.leading is not None:
        # The replica may have begun an epoch in which it appended nothing.
        partition.log.truncate_to(partition.log.log_end_offset)
    partition.leading = None
    partition.fail_waits(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def _assign(partition: "Partition", leading: LeaderState, image: PartitionImage) -> None:
    now_ms = partition.host.clock.steady_ms()
    leading.assigned(
        image.replicas,
        image.isr,
        image.partition_epoch,
        now_ms,
        is_recovering=partition.is_recovering,
        eligible=image.elr,
    )
    partition.maybe_advance_high_watermark()
    if leading.is_change_due(partition.high_watermark, partition.log.log_end_offset, now_ms):
        partition.host.on_follower_ready(partition)
