"""Whether a replica may lack acknowledged records, and what follows from that.

A replica in doubt leaves the in-sync set and the eligible leaders before this node is unfenced, and
fetches what it lacks from another replica.
"""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.broker.replica.replica_truncation import truncate_suspect

if TYPE_CHECKING:
    from barnabas.broker.replica.partition import Partition

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ReplicaDoubt:
    """True as long as there is a reason to doubt."""

    reason: str = ""
    """Why the replica may lack acknowledged records; empty if it has all of them."""
    suspect_from: int | None = None
    """From this offset on the log is refetched: a power loss may have changed it. Offsets and
    epochs are not covered by a batch's checksum."""
    lacks_end: bool = False
    """Whether the newest records may be missing: then the replica does not lead."""
    refetch_upto: int = 0
    """Where the log ended before its suspect records were truncated. The replica does not lead
    before it has caught up: the metadata log may still have to tell that the controller once
    elected it, before it knew of the doubt."""
    committed_upto: int = 0
    """The high watermark before that."""
    must_lead: bool = False
    """No other replica can lead: an incomplete log is better than none."""

    def __bool__(self) -> bool:
        return bool(self.reason)

    @property
    def is_only_hole(self) -> bool:
        """Whether the log itself is the only evidence: it is not truncated before the controller
        knows.

        Otherwise a node that is killed in between would consider the rest complete at its next
        start. Until the controller knows, the high watermark checkpoint shows a missing end, and
        `broker.state` shows a power loss.
        """
        return bool(self.reason) and not self.lacks_end

    def caught_up(self, end_offset: int, leader_high_watermark: int) -> None:
        """The leader had nothing to send to this replica, which ends at `end_offset`.

        That alone does not tell that there is no more: a throttled leader sends nothing, and one
        that has just begun may not know yet what is committed.
        """
        if end_offset >= leader_high_watermark >= self.committed_upto:
            self.refetch_upto = self.committed_upto = 0

    def settle(self) -> None:
        """No other node relies on this replica any longer. Suspect records stay suspect until they
        are truncated, when another node leads."""
        self.reason = ""
        self.lacks_end = self.must_lead = False


def doubt_replica(partition: "Partition", reason: str) -> None:
    """The replica lacks, or may lack, records that it has acknowledged."""
    partition.doubt.reason = partition.doubt.reason or reason
    partition.log.is_in_doubt = True
    partition.host.on_doubt(partition)


def doubt_unless_refetched(partition: "Partition") -> None:
    """Doubt a replica that is to lead before it has refetched its truncated end."""
    doubt = partition.doubt
    end_offset = partition.log.log_end_offset
    if end_offset < doubt.refetch_upto and not doubt and not doubt.must_lead:
        doubt.lacks_end = True
        doubt_replica(partition, f"it ends at {end_offset}, and has not caught up since")


def examine_epochs(partition: "Partition", leader_epoch: int) -> None:
    """Doubt a replica that is to lead, or to follow, in `leader_epoch` and has a later one.

    There is no such batch: the CRC does not cover the epoch, so that is damaged.
    """
    log = partition.log
    first = log.start_of_epoch_above(leader_epoch)
    if first is not None and not partition.doubt:
        partition.doubt.suspect_from = first
        doubt_replica(
            partition,
            f"its batch at offset {first} is of leader epoch {log.leader_epoch_for(first)}, and "
            f"the leader's epoch is {leader_epoch}",
        )


def adopt_epochs(partition: "Partition", leader_epoch: int) -> None:
    """The replica leads in `leader_epoch`, with the only copy of batches whose epoch is damaged.

    Followers refuse them, unless they get an epoch that can be. Raises `StorageError`.
    """
    changed = partition.log.epoch_repair.adopt(leader_epoch)
    if changed:
        logger.warning("%s: damaged leader epochs corrected: %d", partition.name, changed)


def must_lead_in_doubt(partition: "Partition") -> bool:
    """No other replica can replace this one. Returns whether it has to become the leader for
    that."""
    partition.doubt.must_lead = True
    if partition.leader_id != partition.host.node_id or partition.is_leader:
        return False
    partition.partition_epoch = -1  # so that the image is applied again
    return True


def settle_doubt(partition: "Partition") -> bool:
    """No other node relies on this replica any longer. Returns whether it has to fetch, perhaps
    again, from its leader.

    Raises `StorageError`.
    """
    # Without a leader, or if this node is to lead, the log is truncated when another node leads.
    follows = partition.leading is None and partition.leader_id not in (-1, partition.host.node_id)
    was_hole = partition.doubt.is_only_hole
    is_cut = follows and partition.doubt.suspect_from is not None
    if is_cut:
        truncate_suspect(partition)
    partition.log.loss_is_known()
    partition.doubt.settle()
    partition.log.is_in_doubt = False
    return is_cut or (follows and was_hole)
