"""Who sends a heartbeat: a new member, a known one, or the next instance of a static member."""

from dataclasses import replace

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.consumer.group import STATIC_LEAVE_EPOCH, ConsumerGroup
from barnabas.groups.modern.assignment import NO_PARTITIONS, CurrentAssignment, Partitions
from barnabas.groups.modern.refusal import RefusedHeartbeat
from barnabas.wire.errors import ErrorCode


def check_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """Whether it is a member, and not a static member that was replaced.

    Raises `RefusedHeartbeat`.
    """
    if instance_id is not None:
        holder = group.pending.static_members.get(instance_id)
        if holder is None:
            raise RefusedHeartbeat(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"the group has no member with the instance id {instance_id}",
            )
        if holder != member_id:
            raise RefusedHeartbeat(
                ErrorCode.FENCED_INSTANCE_ID,
                f"member {holder} has taken over the instance id {instance_id}",
            )
    if member_id not in group.pending.members:
        raise RefusedHeartbeat(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"group {group.group_id} has no member {member_id}",
        )


def check_epoch(group: ConsumerGroup, member_id: str, epoch: int, owned: Partitions | None) -> None:
    """A member may be one epoch behind if the answer that told it the new one got lost.

    Then it can't own anything that it was not assigned. Raises `RefusedHeartbeat`.
    """
    current = group.pending.current_of(member_id)
    if epoch == current.member_epoch:
        return
    if epoch == current.previous_member_epoch and _is_part(owned, current):
        return
    than = "greater" if epoch > current.member_epoch else "smaller"
    raise RefusedHeartbeat(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"the member says epoch {epoch}, which is {than} than its epoch {current.member_epoch}: it "
        f"has to give up its partitions and join again",
    )


def _is_part(owned: Partitions | None, current: CurrentAssignment) -> bool:
    return owned is not None and all(
        indexes <= current.assigned.get(topic_id, {}).keys() for topic_id, indexes in owned.items()
    )


def has_room(group: ConsumerGroup, member_id: str, instance_id: str | None) -> bool:
    members = group.pending.members
    is_known = member_id in members or instance_id in group.pending.static_members
    return is_known or len(members) < group.config.consumer.max_size


def check_released(group: ConsumerGroup, member_id: str, instance_id: str) -> None:
    """Whether a static member may join with this instance id. Raises `RefusedHeartbeat`."""
    holder = group.pending.static_members.get(instance_id)
    if holder is None or holder == member_id:
        return
    is_classic = group.pending.members[holder].classic is not None
    if not is_classic and group.pending.epoch_of(holder) != STATIC_LEAVE_EPOCH:
        raise RefusedHeartbeat(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"member {holder} has the instance id {instance_id}, and has not left",
        )


def replace_static_member(
    group: ConsumerGroup, former_id: str, member_id: str, decision: CoordinatorDecision
) -> None:
    """A new instance gets everything that the former one had; nobody else notices."""
    state = group.pending
    member = state.members[former_id]
    target = state.targets.get(former_id, NO_PARTITIONS)
    current = replace(state.current_of(former_id), member_epoch=0, previous_member_epoch=0)
    regex = state.regexes.get(member.subscribed_topic_regex or "")
    group.propose(decision, *group.member_tombstones(former_id))
    group.forget_member(former_id)
    group.propose(
        decision,
        group.member_record(member_id, member),
        group.target_record(member_id, target),
        group.current_record(member_id, current),
    )
    if regex is not None and member.subscribed_topic_regex not in state.regexes:
        group.propose(decision, group.regex_record(member.subscribed_topic_regex or "", regex))
