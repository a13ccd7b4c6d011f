"""Members of the classic protocol in a consumer group.

They join, sync and send heartbeats as ever, and are followers whose leader nobody sees: the
coordinator makes the assignment. A member joins to say what it owns and to be brought nearer to
its target; the answer to a sync has its assignment. A heartbeat tells it when to join again.
"""

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic.join import Join, refused
from barnabas.groups.classic.subscription import CONSUMER_PROTOCOL_TYPE
from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.consumer.member import ClassicMetadata, ConsumerMember
from barnabas.groups.consumer.membership import check_member, has_room, replace_static_member
from barnabas.groups.consumer.reconciliation import reconcile
from barnabas.groups.consumer.regexes import regex_changed
from barnabas.groups.migration.embedded_protocol import (
    MalformedMetadata,
    owned_partitions,
    read_subscription,
    write_assignment,
)
from barnabas.groups.modern.assignment import NO_PARTITIONS, MemberState
from barnabas.groups.modern.group import topic_ids_of
from barnabas.groups.modern.refusal import RefusedHeartbeat
from barnabas.groups.modern.target import remove_members, update_epoch, update_target
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_MEMBER_ID_REQUIRED_FROM = 4
_SEVERAL_MEMBERS_FROM = 3


def join(group: ConsumerGroup, it: Join, decision: CoordinatorDecision, now_ms: int) -> None:
    request = it.request
    error = _check_join(group, it)
    if error is not ErrorCode.NONE:
        decision.reply(it.token, refused(request, error))
        return
    instance_id = request.group_instance_id
    is_new = not request.member_id
    if is_new and instance_id is None and it.api_version >= _MEMBER_ID_REQUIRED_FROM:
        required = JoinGroupResponse(
            error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=it.new_member_id
        )
        decision.reply(it.token, required)
        return
    member_id = request.member_id or it.new_member_id
    state = group.pending
    former_id = state.static_members.get(instance_id or "")
    if former_id is not None and former_id != member_id:
        replace_static_member(group, former_id, member_id, decision)
    subscription = read_subscription(next(iter(it.protocols.values())))
    before = state.members.get(member_id)
    member = ConsumerMember(
        client_id=it.client_id,
        client_host=it.client_host,
        instance_id=instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=it.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        classic=ClassicMetadata(request.session_timeout_ms, tuple(it.protocols.items())),
    )
    if member != before:
        group.propose(decision, group.member_record(member_id, member))
    changed = before is None or member.subscribed_topic_names != before.subscribed_topic_names
    if before is not None and before.subscribed_topic_regex:
        changed |= regex_changed(group, before, member, decision)
    update_epoch(group, decision, bump=changed)
    update_target(group, decision, now_ms)
    had = state.current_of(member_id)
    has = reconcile(
        member_id,
        had,
        target=state.targets.get(member_id, NO_PARTITIONS),
        target_epoch=state.assignment_epoch,
        subscribed=topic_ids_of(group, member),
        owned=owned_partitions(subscription, group.topics),
        owner_of=state.owner_of,
        subscription_changed=changed,
    )
    if has != had:
        group.propose(decision, group.current_record(member_id, has))
    group.touch(member_id, now_ms)
    # It has to sync in time.
    group.rebalance_deadlines[member_id] = now_ms + member.rebalance_timeout_ms
    response = JoinGroupResponse(
        generation_id=has.member_epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=next(iter(it.protocols)),
        member_id=member_id,
    )
    group.answer(decision, it.token, response, lambda error: refused(request, error))


def _check_join(group: ConsumerGroup, it: Join) -> ErrorCode:
    request = it.request
    if not has_room(group, request.member_id, request.group_instance_id):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if request.protocol_type != CONSUMER_PROTOCOL_TYPE or not _supports(group, it):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.group_instance_id is not None and request.member_id:
        error = _member_error(group, request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
    try:
        read_subscription(next(iter(it.protocols.values())))
    except MalformedMetadata:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _supports(group: ConsumerGroup, it: Join) -> bool:
    """Whether all classic members support one of the protocols, in case the group goes back."""
    common = set(it.protocols)
    for member_id, member in group.pending.members.items():
        if member.classic is not None and member_id != it.request.member_id:
            common &= {name for name, _ in member.classic.protocols}
    return bool(common)


def _member_error(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    try:
        check_member(group, member_id, instance_id)
    except RefusedHeartbeat as refusal:
        return refusal.error_code
    return ErrorCode.NONE


def _check_classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
) -> ErrorCode:
    error = _member_error(group, member_id, instance_id)
    if error is not ErrorCode.NONE:
        return error
    if group.pending.members[member_id].classic is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.pending.epoch_of(member_id) != generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE


def sync(
    group: ConsumerGroup,
    request: SyncGroupRequest,
    token: object,
    decision: CoordinatorDecision,
    now_ms: int,
) -> None:
    error = _check_sync(group, request)
    if error is not ErrorCode.NONE:
        decision.reply(token, SyncGroupResponse(error_code=error))
        return
    member_id = request.member_id
    classic = group.pending.members[member_id].classic
    assert classic is not None
    name, metadata = classic.protocols[0]
    group.touch(member_id, now_ms)
    group.rebalance_deadlines.pop(member_id, None)
    response = SyncGroupResponse(
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=name,
        assignment=write_assignment(
            group.pending.current_of(member_id).assigned, group.topics, metadata
        ),
    )
    group.answer(decision, token, response, lambda error: SyncGroupResponse(error_code=error))


def _check_sync(group: ConsumerGroup, request: SyncGroupRequest) -> ErrorCode:
    error = _check_classic_member(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    if error is not ErrorCode.NONE:
        return error
    classic = group.pending.members[request.member_id].classic
    assert classic is not None
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name not in (None, classic.protocols[0][0]):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    current = group.pending.current_of(request.member_id)
    is_behind = current.member_epoch < group.pending.assignment_epoch
    if is_behind and current.state is not MemberState.UNREVOKED_PARTITIONS:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def heartbeat(group: ConsumerGroup, request: HeartbeatRequest, now_ms: int) -> ErrorCode:
    """It may be answered from what is not persisted yet: the member joins then, and waits."""
    member_id = request.member_id
    error = _check_classic_member(
        group, member_id, request.group_instance_id, request.generation_id
    )
    if error is not ErrorCode.NONE:
        return error
    group.touch(member_id, now_ms)
    if not _has_to_join(group, member_id):
        return ErrorCode.NONE
    timeout_ms = group.pending.members[member_id].rebalance_timeout_ms
    group.rebalance_deadlines.setdefault(member_id, now_ms + timeout_ms)
    return ErrorCode.REBALANCE_IN_PROGRESS


def _has_to_join(group: ConsumerGroup, member_id: str) -> bool:
    state = group.pending
    current = state.current_of(member_id)
    if current.member_epoch < state.assignment_epoch:
        return True
    match current.state:
        case MemberState.UNREVOKED_PARTITIONS:
            return True
        case MemberState.UNRELEASED_PARTITIONS:
            # Once it would get something.
            return any(
                state.owner_of(topic_id, index) is None
                for topic_id, indexes in state.targets.get(member_id, NO_PARTITIONS).items()
                for index in indexes
            )
    return False


def leave(
    group: ConsumerGroup,
    request: LeaveGroupRequest,
    api_version: int,
    decision: CoordinatorDecision,
    now_ms: int,
) -> LeaveGroupResponse:
    """The members leave; returns the response for when that is persisted."""
    is_old = api_version < _SEVERAL_MEMBERS_FROM
    identities = [MemberIdentity(request.member_id)] if is_old else request.members
    leaving: dict[str, None] = {}
    results: list[MemberResponse] = []
    for each in identities:
        member_id, instance_id = each.member_id, each.group_instance_id
        if not member_id and instance_id is not None:
            member_id = group.pending.static_members.get(instance_id, "")
        error = _member_error(group, member_id, instance_id)
        if error is ErrorCode.NONE and member_id in leaving:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is ErrorCode.NONE:
            leaving[member_id] = None
        results.append(MemberResponse(each.member_id, instance_id, error))
    if leaving:
        remove_members(group, leaving, decision, now_ms)
    if is_old:
        return LeaveGroupResponse(error_code=results[0].error_code)
    return LeaveGroupResponse(members=results)
