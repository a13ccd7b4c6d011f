"""Whether a replica may lack acknowledged records, and what follows from that.

A replica in doubt leaves the in-sync set and the eligible leaders before this node is unfenced, and
fetches what it lacks from another replica. It truncates its suspect records only when a leader has
answered it: that metadata names a leader proves nothing, since that one may be in doubt as well and
have less. All of them may have lost power at once.
"""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    awaits_leader: bool = False
    """The controller knows, and the suspect records are truncated as soon as a leader answers."""
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

    def suspect(self, offset: int) -> None:
        """Refetch the log from this offset on, unless it is refetched from an earlier one on."""
        known = self.suspect_from
        self.suspect_from = offset if known is None else min(offset, known)

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


def doubt_unless_refetched(partition: "Partition", *, is_unclean: bool) -> None:
    """Doubt a replica that is to lead before it has refetched its suspect records.

    In an unclean election the replicas were compared, and this one has the most.
    """
    doubt = partition.doubt
    if doubt or doubt.must_lead:
        return
    end_offset = partition.log.log_end_offset
    if end_offset < doubt.refetch_upto:
        doubt.lacks_end = True
        doubt_replica(partition, f"it ends at {end_offset}, and has not caught up since")
    elif doubt.awaits_leader and not is_unclean:
        doubt.lacks_end = True
        doubt_replica(partition, f"it has not refetched its records from {doubt.suspect_from} on")


def fetch_position(partition: "Partition") -> tuple[int, int]:
    """Where the replica fetches next, and the leader epoch of the record before.

    That is its end. But it claims to have everything before, so suspect records do not count.
    """
    log, doubt = partition.log, partition.doubt
    if doubt.suspect_from is None or doubt.is_only_hole:
        return log.log_end_offset, log.last_epoch
    offset = min(max(doubt.suspect_from, log.log_start_offset), log.log_end_offset)
    return offset, log.leader_epoch_for(offset - 1)


def examine_epochs(partition: "Partition", leader_epoch: int) -> None:
    """Doubt a replica that is to lead, or to follow, in `leader_epoch` and has a later one.

    There is no such batch: the CRC does not cover the epoch, so that is damaged.
    """
    log = partition.log
    first = log.start_of_epoch_above(leader_epoch)
    if first is not None and not partition.doubt:
        partition.doubt.suspect(first)
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
    doubt = partition.doubt
    follows = partition.leading is None and partition.leader_id not in (-1, partition.host.node_id)
    was_hole = doubt.is_only_hole
    partition.log.loss_is_known()
    doubt.awaits_leader = partition.leading is None and doubt.suspect_from is not None
    if doubt.awaits_leader:  # this node may end before that one answers
        partition.log.suspects.note(doubt.suspect_from)
        partition.log.suspects.keep()
    doubt.settle()
    partition.log.is_in_doubt = False
    partition.host.settled(partition)
    return follows and (was_hole or doubt.awaits_leader)
