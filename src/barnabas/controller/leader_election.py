"""Which replica leads a partition.

A clean election chooses a member of the in-sync set, and an eligible leader if no member is
available: each of them has all committed records. An unclean election chooses the replica with the
longest log among those that have answered, and may lose committed records.

Among replicas that are equally good, those that keep up with the metadata log come first: one whose
disk is full would not know that it leads. A leader stays, also one that is behind
(`leaders.stuck_leaders`).
"""

from collections.abc import Collection
from dataclasses import replace

from barnabas.controller.draft import Draft
from barnabas.controller.replica_ends import ReplicaEnds
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.metadata.partition_image import NO_LEADER, RECOVERING


def elect_leader(
    image: MetadataImage, partition: PartitionImage, behind: Collection[int]
) -> PartitionImage:
    """The partition with its preferred leader if that one may lead, otherwise with another, if
    possible none of those `behind`."""
    leader = _leader(image, partition, behind)
    if leader == partition.leader:
        return partition
    isr = partition.isr
    return partition.led_by(leader, isr if leader in isr or leader == NO_LEADER else [leader])


def _leader(image: MetadataImage, partition: PartitionImage, behind: Collection[int]) -> int:
    """The preferred one if it may lead, otherwise the first replica that may."""
    isr = partition.isr
    if partition.leader in isr and image.is_active(partition.leader):
        return partition.leader
    replicas = sorted(partition.replicas, key=lambda replica: replica in behind)
    for candidate in replicas:
        if candidate in isr and image.is_active(candidate):
            return candidate
    # A broker in controlled shutdown still serves, which is better than no leader.
    for candidate in (partition.leader, *replicas):
        if candidate in isr and candidate in image.brokers and not image.brokers[candidate].fenced:
            return candidate
    for candidate in replicas:
        if candidate in partition.elr and image.is_active(candidate):
            return candidate
    return NO_LEADER


def elect_uncleanly(
    draft: Draft, topic: TopicImage, partition: PartitionImage, ends: ReplicaEnds
) -> PartitionImage:
    """Led by the replica with the longest log: the newest epoch, and the largest offset in it."""
    found = ends.get((topic.topic_id, partition.index), {})
    there = [r for r in partition.replicas if r in found and draft.image.is_active(r)]
    if not there:
        return partition
    leader = max(
        there,
        key=lambda replica: (
            found[replica],
            replica not in draft.behind,
            replica in partition.last_known_elr,
        ),
    )
    had = ", ".join(f"broker {r} {found[r]}" for r in partition.replicas if r in found)
    draft.warnings.append(
        f"unclean election: broker {leader} leads {topic.name}-{partition.index} from outside the "
        f"in-sync set {partition.isr}; acknowledged records may be lost. Replica logs: {had}"
    )
    return replace(
        partition,
        leader=leader,
        isr=[leader],
        leader_recovery_state=RECOVERING,
        elr=[],
        last_known_elr=[],
    )
