"""ShareGroupHeartbeat: join, stay in the group, leave.

Epoch 0 joins, -1 leaves. Members need not wait for each other: a partition may have several
readers, so a member has its target assignment at once.

A member that waits, because states of its partitions are being begun or the next assignment is not
due yet, is asked for its next heartbeat sooner. Kafka does not do that.
"""

from dataclasses import dataclass

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.modern.assignment import (
    NO_PARTITIONS,
    CurrentAssignment,
    MemberState,
    PartitionEpochs,
)
from barnabas.groups.modern.group import topic_ids_of
from barnabas.groups.modern.refusal import (
    RefusedHeartbeat,
    check_names,
    check_topics,
    require,
)
from barnabas.groups.modern.target import (
    assignment_delay_ms,
    remove_members,
    update_epoch,
    update_target,
)
from barnabas.groups.share.group import ShareGroup
from barnabas.groups.share.member import ShareMember
from barnabas.groups.share.share_states import missing
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

LEAVE_EPOCH = -1
_WAITING_INTERVAL_MS = 200
_SHORTEST_INTERVAL_MS = 100


@dataclass(slots=True)
class ShareHeartbeat:
    """A heartbeat and where it came from."""

    request: ShareGroupHeartbeatRequest
    token: object
    client_id: str
    client_host: str


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    """Errors that do not depend on the group. Raises `RefusedHeartbeat`."""
    require(request.member_id.strip(), "MemberId is empty")
    check_names(request.group_id, request.rack_id, request.member_id)
    epoch = request.member_epoch
    require(epoch >= LEAVE_EPOCH, f"there is no MemberEpoch {epoch}")
    if epoch == 0:
        require(
            request.subscribed_topic_names,
            "a member that joins has to send SubscribedTopicNames",
        )
    check_topics(request.subscribed_topic_names or ())


def check(group: ShareGroup, request: ShareGroupHeartbeatRequest, max_size: int) -> None:
    """Whether the sender is a member, or may become one. Raises `RefusedHeartbeat`."""
    member_id, epoch = request.member_id, request.member_epoch
    is_known = member_id in group.pending.members
    if epoch == 0:
        if not is_known and len(group.pending.members) >= max_size:
            raise RefusedHeartbeat(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"the group is full: group.share.max.size is {max_size}",
            )
        return
    if not is_known:
        raise RefusedHeartbeat(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"group {group.group_id} has no member {member_id}",
        )
    current = group.pending.current_of(member_id)
    if epoch not in (LEAVE_EPOCH, current.member_epoch, current.previous_member_epoch):
        than = "greater" if epoch > current.member_epoch else "smaller"
        raise RefusedHeartbeat(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"the member says epoch {epoch}, which is {than} than its epoch "
            f"{current.member_epoch}: it has to give up its partitions and join again",
        )


def heartbeat(
    group: ShareGroup, it: ShareHeartbeat, decision: CoordinatorDecision, now_ms: int
) -> None:
    """The request is checked."""
    request, state = it.request, group.pending
    member_id = request.member_id
    before = state.members.get(member_id)
    member = _updated(it, before or ShareMember())
    if member != before:
        group.propose(decision, group.member_record(member_id, member))
    changed = before is None or member.subscribed_topic_names != before.subscribed_topic_names
    update_epoch(group, decision, bump=changed)
    update_target(group, decision, now_ms)

    had = state.current_of(member_id)
    has = _assigned(group, member, member_id, had, subscription_changed=changed)
    if has != had:
        group.propose(decision, group.current_record(member_id, has))
    group.touch(member_id, now_ms)
    response = ShareGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=has.member_epoch,
        heartbeat_interval_ms=_interval_ms(group, now_ms),
    )
    if (
        request.member_epoch != had.member_epoch
        or request.subscribed_topic_names is not None
        or _is_other(has.assigned, had.assigned)
    ):
        response.assignment = Assignment(
            [
                TopicPartitions(topic_id, sorted(epochs))
                for topic_id, epochs in sorted(has.assigned.items())
            ]
        )
    group.answer(decision, it.token, response, failed)


def leave(
    group: ShareGroup, it: ShareHeartbeat, decision: CoordinatorDecision, now_ms: int
) -> None:
    """The request is checked."""
    remove_members(group, [it.request.member_id], decision, now_ms)
    response = ShareGroupHeartbeatResponse(member_id=it.request.member_id, member_epoch=LEAVE_EPOCH)
    group.answer(decision, it.token, response, failed)


def refused(refusal: RefusedHeartbeat) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=refusal.error_code, error_message=refusal.message)


def failed(error: ErrorCode) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error)


def _updated(it: ShareHeartbeat, member: ShareMember) -> ShareMember:
    """What the request does not say stays as it is."""
    request = it.request
    names = request.subscribed_topic_names
    return ShareMember(
        it.client_id,
        it.client_host,
        member.rack_id if request.rack_id is None else request.rack_id,
        member.subscribed_topic_names if names is None else frozenset(names),
    )


def _assigned(
    group: ShareGroup,
    member: ShareMember,
    member_id: str,
    had: CurrentAssignment,
    *,
    subscription_changed: bool,
) -> CurrentAssignment:
    """The target assignment, as far as the member is subscribed to it."""
    state = group.pending
    epoch = state.assignment_epoch
    if had.member_epoch == epoch and not subscription_changed:
        return had
    subscribed = topic_ids_of(group, member)
    target = state.targets.get(member_id, NO_PARTITIONS)
    return CurrentAssignment(
        epoch,
        had.previous_member_epoch if had.member_epoch == epoch else had.member_epoch,
        MemberState.STABLE,
        {
            topic_id: dict.fromkeys(indexes, epoch)
            for topic_id, indexes in target.items()
            if topic_id in subscribed
        },
    )


def _interval_ms(group: ShareGroup, now_ms: int) -> int:
    interval_ms = group.heartbeat_interval_ms
    delay_ms = assignment_delay_ms(group, now_ms)
    if delay_ms is not None:
        return max(_SHORTEST_INTERVAL_MS, min(interval_ms, delay_ms))
    if missing(group):
        return min(interval_ms, _WAITING_INTERVAL_MS)
    return interval_ms


def _is_other(one: PartitionEpochs, other: PartitionEpochs) -> bool:
    return one.keys() != other.keys() or any(
        epochs.keys() != other[topic_id].keys() for topic_id, epochs in one.items()
    )
