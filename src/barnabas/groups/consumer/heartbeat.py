"""ConsumerGroupHeartbeat: join, stay in the group, leave.

A member sends its subscription and what it owns, and gets its epoch and its assignment. It has to
repeat only what has changed. Epoch 0 joins, -1 leaves, -2 is a static member that leaves for a
while.

An answer may get lost with its coordinator, after what it says was persisted: the first answer of
the next one has the assignment. Kafka waits until the client asks for it.

A member that waits for partitions is asked for its next heartbeat sooner than others
(`_WAITING_INTERVAL_MS`), so that a rebalance takes about a second rather than up to two heartbeat
intervals. Kafka does not do that.
"""

from dataclasses import dataclass, replace

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.consumer.group import LEAVE_EPOCH, STATIC_LEAVE_EPOCH, ConsumerGroup
from barnabas.groups.consumer.member import ConsumerMember
from barnabas.groups.consumer.membership import (
    check_epoch,
    check_member,
    check_released,
    has_room,
    replace_static_member,
)
from barnabas.groups.consumer.reconciliation import reconcile
from barnabas.groups.consumer.regexes import check_regex, is_unresolved, regex_changed
from barnabas.groups.modern.assignment import (
    NO_PARTITIONS,
    CurrentAssignment,
    MemberState,
    PartitionEpochs,
    partitions_of,
)
from barnabas.groups.modern.group import topic_ids_of
from barnabas.groups.modern.refusal import RefusedHeartbeat
from barnabas.groups.modern.target import (
    assignment_delay_ms,
    remove_members,
    update_epoch,
    update_target,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_WAITING_INTERVAL_MS = 500
_SHORTEST_INTERVAL_MS = 100


@dataclass(slots=True)
class Heartbeat:
    """A heartbeat and where it came from."""

    request: ConsumerGroupHeartbeatRequest
    token: object
    client_id: str
    client_host: str
    member_id: str
    """That of the request, or a new one."""


def check(group: ConsumerGroup, it: Heartbeat) -> None:
    """Whether the sender is a member, or may become one. Raises `RefusedHeartbeat`."""
    request, member_id, instance_id = it.request, it.member_id, it.request.instance_id
    check_regex(group, request.subscribed_topic_regex)
    if is_leaving(request):
        check_member(group, member_id, instance_id)
    elif request.member_epoch != 0:
        check_member(group, member_id, instance_id)
        owned = request.topic_partitions
        partitions = None if owned is None else partitions_of(owned)
        check_epoch(group, member_id, request.member_epoch, partitions)
    else:
        if not has_room(group, member_id, instance_id):
            raise RefusedHeartbeat(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"the group is full: group.consumer.max.size is {group.config.consumer.max_size}",
            )
        if instance_id is not None:
            check_released(group, member_id, instance_id)


def heartbeat(
    group: ConsumerGroup, it: Heartbeat, decision: CoordinatorDecision, now_ms: int
) -> None:
    """The request is checked."""
    request, member_id, state = it.request, it.member_id, group.pending
    former_id = state.static_members.get(request.instance_id or "")
    if former_id is not None and former_id != member_id:
        replace_static_member(group, former_id, member_id, decision)
    before = state.members.get(member_id)
    member = _updated(it, before or ConsumerMember())
    if member != before:
        group.propose(decision, group.member_record(member_id, member))
    changed = before is None or member.subscribed_topic_names != before.subscribed_topic_names
    bump = changed
    if before is not None and member.subscribed_topic_regex != before.subscribed_topic_regex:
        changed = True
        bump |= regex_changed(group, before, member, decision)
    update_epoch(group, decision, bump=bump)
    update_target(group, decision, now_ms, is_last=not is_unresolved(group))

    had = state.current_of(member_id)
    has = _reconciled(group, it, had, subscription_changed=changed)
    if has != had:
        group.propose(decision, group.current_record(member_id, has))
        if has.state is not MemberState.UNREVOKED_PARTITIONS:
            group.rebalance_deadlines.pop(member_id, None)
        elif had.state is not MemberState.UNREVOKED_PARTITIONS:
            group.rebalance_deadlines[member_id] = now_ms + member.rebalance_timeout_ms
    group.touch(member_id, now_ms)

    response = ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=has.member_epoch,
        heartbeat_interval_ms=_interval_ms(group, has, now_ms),
    )
    answer_was_lost = request.member_epoch != had.member_epoch or member_id not in group.told
    if answer_was_lost or _is_full(request) or not _is_same(has.assigned, had.assigned):
        response.assignment = _assignment(has.assigned)
    group.told.add(member_id)
    group.answer(decision, it.token, response, _failed)


def leave(group: ConsumerGroup, it: Heartbeat, decision: CoordinatorDecision, now_ms: int) -> None:
    """The request is checked."""
    request = it.request
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        current = group.pending.current_of(request.member_id)
        left = replace(
            current,
            member_epoch=STATIC_LEAVE_EPOCH,
            assigned={
                topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in current.assigned.items()
            },
            revoking={},
        )
        group.propose(decision, group.current_record(request.member_id, left))
        group.rebalance_deadlines.pop(request.member_id, None)
    else:
        remove_members(group, [request.member_id], decision, now_ms)
    response = ConsumerGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=request.member_epoch
    )
    group.answer(decision, it.token, response, _failed)


def refused(refusal: RefusedHeartbeat) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        error_code=refusal.error_code, error_message=refusal.message
    )


def is_leaving(request: ConsumerGroupHeartbeatRequest) -> bool:
    return request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH)


def _failed(error: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error)


def _updated(it: Heartbeat, member: ConsumerMember) -> ConsumerMember:
    """What the request does not say stays as it is."""
    request = it.request
    names, timeout_ms = request.subscribed_topic_names, request.rebalance_timeout_ms
    regex = request.subscribed_topic_regex
    return ConsumerMember(
        client_id=it.client_id,
        client_host=it.client_host,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        subscribed_topic_names=(
            member.subscribed_topic_names if names is None else frozenset(names)
        ),
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
        server_assignor=(
            member.server_assignor if request.server_assignor is None else request.server_assignor
        ),
    )


def _reconciled(
    group: ConsumerGroup, it: Heartbeat, current: CurrentAssignment, *, subscription_changed: bool
) -> CurrentAssignment:
    state = group.pending
    is_reconciled = (
        current.state is MemberState.STABLE and current.member_epoch == state.assignment_epoch
    )
    if is_reconciled and not subscription_changed:
        return current
    owned = it.request.topic_partitions
    return reconcile(
        it.member_id,
        current,
        target=state.targets.get(it.member_id, NO_PARTITIONS),
        target_epoch=state.assignment_epoch,
        subscribed=topic_ids_of(group, state.members[it.member_id]),
        owned=None if owned is None else partitions_of(owned),
        owner_of=state.owner_of,
        subscription_changed=subscription_changed,
    )


def _interval_ms(group: ConsumerGroup, current: CurrentAssignment, now_ms: int) -> int:
    interval_ms = group.heartbeat_interval_ms
    delay_ms = assignment_delay_ms(group, now_ms)
    if delay_ms is not None:
        return max(_SHORTEST_INTERVAL_MS, min(interval_ms, delay_ms))
    if current.state is MemberState.UNRELEASED_PARTITIONS or is_unresolved(group):
        return min(interval_ms, _WAITING_INTERVAL_MS)
    return interval_ms


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the member has said everything, as it does after it lost its connection."""
    has_subscription = (
        request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    )
    return (
        request.rebalance_timeout_ms != -1
        and has_subscription
        and request.topic_partitions is not None
    )


def _is_same(one: PartitionEpochs, other: PartitionEpochs) -> bool:
    return one.keys() == other.keys() and all(
        epochs.keys() == other[topic_id].keys() for topic_id, epochs in one.items()
    )


def _assignment(assigned: PartitionEpochs) -> Assignment:
    return Assignment(
        [TopicPartitions(topic_id, sorted(epochs)) for topic_id, epochs in sorted(assigned.items())]
    )
