"""LeaveGroup: members leave, or an operator removes static members by their instance ids."""

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.rebalance import drop_member, rebalance
from barnabas.groups.classic.state import GroupState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

_SEVERAL_MEMBERS_FROM = 3


def leave(
    group: ClassicGroup | None,
    request: LeaveGroupRequest,
    token: object,
    api_version: int,
    decision: CoordinatorDecision,
    now_ms: int,
) -> None:
    """If the group becomes empty, the response waits until that is persisted."""
    if not request.group_id:
        decision.reply(token, LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        return
    if group is not None and group.state is GroupState.DEAD:
        decision.reply(token, _failed(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return
    is_old = api_version < _SEVERAL_MEMBERS_FROM
    identities = [MemberIdentity(request.member_id)] if is_old else request.members
    results = [_leave_one(group, identity, decision) for identity in identities]
    any_left = any(each.error_code == ErrorCode.NONE for each in results)
    if group is not None and group.state is not GroupState.EMPTY and any_left:
        rebalance(group, decision, now_ms)
    response = (
        LeaveGroupResponse(error_code=results[0].error_code)
        if is_old
        else LeaveGroupResponse(members=results)
    )
    decision.hold(token, committed=response, failed=_failed)


def _failed(error: ErrorCode) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error)


def _leave_one(
    group: ClassicGroup | None, who: MemberIdentity, decision: CoordinatorDecision
) -> MemberResponse:
    member_id, instance_id = who.member_id, who.group_instance_id
    if group is None:
        error = ErrorCode.UNKNOWN_MEMBER_ID
    elif member_id in group.pending_members and instance_id is None:
        del group.pending_members[member_id]
        error = ErrorCode.NONE
    else:
        if not member_id and instance_id is not None:
            member_id = group.static_members.get(instance_id, "")
        error = group.check_member(member_id, instance_id)
        if error is ErrorCode.NONE:
            drop_member(group, member_id, decision)
    return MemberResponse(who.member_id, instance_id, error)
