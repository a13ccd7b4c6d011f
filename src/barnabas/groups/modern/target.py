"""The group epoch and the target assignment that belongs to it.

The group epoch grows when members or their subscriptions change, and when subscribed topics are
created, deleted or get more partitions. Then a new target assignment is due. It is made with the
next heartbeat of any member, though at most once per assignment interval, so that members that
arrive together cause one rebalance.
"""

from collections.abc import Iterable
from typing import Any

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.modern.assignment import NO_PARTITIONS, Partitions
from barnabas.groups.modern.assignor import GroupSpec, MemberSpec, no_racks
from barnabas.groups.modern.group import ModernGroup, topic_ids_of
from barnabas.groups.modern.topics import metadata_hash

AnyModernGroup = ModernGroup[Any]


def update_epoch(group: AnyModernGroup, decision: CoordinatorDecision, *, bump: bool) -> None:
    """Begin a new group epoch if `bump`, or if subscribed topics have changed."""
    version = group.topics.version
    if not bump and group.checked_version == version:
        return
    state = group.pending
    now = metadata_hash(state.subscribed_topics(), group.topics)
    if bump or now != state.metadata_hash:
        group.propose(decision, group.epoch_record(state.epoch + 1, now))
    group.checked_version = version


def assignment_delay_ms(group: AnyModernGroup, now_ms: int) -> int | None:
    """How long the next target assignment has to wait; None if none is due."""
    state = group.pending
    if state.assignment_epoch >= state.epoch:
        return None
    since_ms: int = now_ms - state.assignment_time_ms
    if not state.targets or not state.assignment_time_ms or since_ms < 0:
        return 0  # the first one, also of a group that was empty, makes no member wait
    return max(0, group.assignment_interval_ms - since_ms)


def update_target(
    group: AnyModernGroup, decision: CoordinatorDecision, now_ms: int, *, is_last: bool = True
) -> None:
    """Make the target assignment of the group epoch, unless there is one or it has to wait.

    Unless it `is_last`, the next one is known to follow soon and need not wait for its interval.
    """
    if assignment_delay_ms(group, now_ms) != 0:
        return
    state = group.pending
    targets = group.assignor().assign(_spec(group))
    for member_id in state.members:
        target = targets.get(member_id, NO_PARTITIONS)
        if target != state.targets.get(member_id):
            group.propose(decision, group.target_record(member_id, target))
    time_ms = now_ms if is_last else 0
    group.propose(decision, group.assignment_epoch_record(state.epoch, time_ms))


def remove_members(
    group: AnyModernGroup, member_ids: Iterable[str], decision: CoordinatorDecision, now_ms: int
) -> None:
    """Members left or are fenced; the others get their partitions in a new group epoch.

    If there are none, the assignment of that epoch, which is nothing, is made here. It persists
    since when the group is empty (`ModernGroup.empty_since_ms`).
    """
    for member_id in member_ids:
        group.propose(decision, *group.member_tombstones(member_id))
        group.forget_member(member_id)
    update_epoch(group, decision, bump=True)
    if not group.pending.members:
        group.propose(decision, group.assignment_epoch_record(group.pending.epoch, now_ms))


def _spec(group: AnyModernGroup) -> GroupSpec:
    state = group.pending
    topic_ids: dict[frozenset[str], frozenset[bytes]] = {}
    members: dict[str, MemberSpec] = {}
    for member_id, member in state.members.items():
        names = state.topics_of(member)
        ids = topic_ids.get(names)
        if ids is None:
            # Most members have the same subscription.
            ids = topic_ids[names] = topic_ids_of(group, member)
        target: Partitions = state.targets.get(member_id, NO_PARTITIONS)
        members[member_id] = MemberSpec(ids, target, member.instance_id, member.rack_id)
    counts = {}
    for topic_id in frozenset().union(*topic_ids.values()):
        topic = group.topics.by_id(topic_id)
        if topic is not None:
            counts[topic_id] = topic.partition_count
    has_racks = any(member.rack_id for member in members.values())
    return GroupSpec(members, counts, group.topics.racks_of if has_racks else no_racks)
