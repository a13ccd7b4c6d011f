"""Changes of one partition: its leader, in-sync set, eligible leaders and replicas.

Every change of a partition goes through `change_partition`, so these hold after each of them:

- A leader is in the in-sync set and not fenced; without one the leader is -1
  (`leader_election`).
- An election does not change the in-sync set: each member has all committed records. Only the
  leader removes members, because a leader that sends a request is alive. If the controller removed
  them, the set might shrink to a broker that is dead too, without the controller knowing; and if
  that broker has lost its disk, committed records are lost although other replicas have them.
- A replica that leaves the set when it is, or falls, below `min.insync.replicas` becomes an
  eligible leader: the leader commits nothing until the set is large enough again, so the replica
  has all committed records. It is elected when no member of the set is available. A replica that
  has lost records is neither in sync nor eligible.
- No other replica leads, unless an unclean election is allowed. For that, the replicas are asked
  for their log ends first (`replica_ends`).
- A reassignment ends as soon as all added replicas are in sync, and `min.insync.replicas` of those
  that stay (`enough_copies`).
"""

from collections.abc import Collection
from dataclasses import replace

from barnabas.controller.draft import Draft
from barnabas.controller.enough_copies import keeps_enough
from barnabas.controller.leader_election import elect_leader, elect_uncleanly
from barnabas.controller.replica_ends import ReplicaEnds
from barnabas.metadata.image import PartitionImage, TopicImage
from barnabas.metadata.partition_image import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    NO_RECOVERY_CHANGE,
)
from barnabas.wire.messages.metadata_records import PartitionChangeRecord


def change_partition(
    draft: Draft,
    topic: TopicImage,
    wanted: PartitionImage,
    *,
    lost: Collection[int] = (),
    ends: ReplicaEnds | None = None,
) -> None:
    """Write the record that makes the partition as `wanted`, with a leader that may lead it.

    `wanted` is the partition with the requested changes; its leader is only preferred. `lost` are
    replicas that lack records they had acknowledged: they are not eligible. With `ends` an unclean
    election is allowed, among the replicas that have answered.
    """
    before = topic.partitions[wanted.index]
    after = elect_leader(draft.image, wanted, draft.behind)
    after = _with_eligible(draft, topic, before, after, lost)
    after = _with_eligible(draft, topic, before, _moved(draft, topic, after), lost)
    if after.leader == NO_LEADER:
        if ends is not None:
            after = elect_uncleanly(draft, topic, after, ends)
        elif draft.unclean(topic.name):
            draft.to_recover.append((topic.topic_id, after.index))
    change = _difference(topic.topic_id, before, after, has_lost=bool(lost))
    if change is not None:
        draft.write(change)


def _with_eligible(
    draft: Draft,
    topic: TopicImage,
    before: PartitionImage,
    after: PartitionImage,
    lost: Collection[int],
) -> PartitionImage:
    """The partition with the eligible leaders that follow from the change of its in-sync set."""
    if not before.elr and not after.elr and after.isr == before.isr:
        return after
    elr: list[int] = []
    if len(after.isr) < min(draft.min_isr(topic.name), len(after.replicas)):
        eligible = {*before.elr, *before.isr} - {*after.isr, *lost}
        elr = [replica for replica in after.replicas if replica in eligible]
    return after if elr == after.elr else replace(after, elr=elr)


def _moved(draft: Draft, topic: TopicImage, partition: PartitionImage) -> PartitionImage:
    """The partition with its reassignment completed, if it can be."""
    if not partition.is_moving or partition.leader == NO_LEADER:
        return partition
    target = [r for r in partition.replicas if r not in partition.removing_replicas]
    isr = [member for member in partition.isr if member in target]
    if not set(partition.adding_replicas) <= set(isr) or not any(map(draft.image.is_active, isr)):
        return partition
    if not keeps_enough(partition, target, draft.min_isr(topic.name)):
        return partition
    return elect_leader(
        draft.image,
        replace(partition, replicas=target, isr=isr, adding_replicas=[], removing_replicas=[]),
        draft.behind,
    )


def _difference(
    topic_id: bytes, before: PartitionImage, after: PartitionImage, *, has_lost: bool
) -> PartitionChangeRecord | None:
    if after is before or after == before:
        return None
    # A broker that loses its replica and gets it again later starts with an empty log, and one that
    # has lost records goes back. A new leader epoch makes the leader forget its progress.
    begins_leader_epoch = (
        after.leader != before.leader
        or (has_lost and after.leader != NO_LEADER)
        or (
            after.replicas is not before.replicas
            and not set(before.replicas) <= set(after.replicas)
        )
    )
    recovery = after.leader_recovery_state
    return PartitionChangeRecord(
        partition_id=after.index,
        topic_id=topic_id,
        isr=_changed(before.isr, after.isr),
        leader=after.leader if begins_leader_epoch else NO_LEADER_CHANGE,
        replicas=_changed(before.replicas, after.replicas),
        removing_replicas=_changed(before.removing_replicas, after.removing_replicas),
        adding_replicas=_changed(before.adding_replicas, after.adding_replicas),
        leader_recovery_state=(
            NO_RECOVERY_CHANGE if recovery == before.leader_recovery_state else recovery
        ),
        eligible_leader_replicas=_changed(before.elr, after.elr),
        last_known_elr=_changed(before.last_known_elr, after.last_known_elr),
    )


def _changed(before: list[int], after: list[int]) -> list[int] | None:
    return None if after == before else after
