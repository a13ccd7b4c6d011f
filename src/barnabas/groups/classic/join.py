"""JoinGroup: become a member, or take part in the rebalance.

A dynamic member joins without an id. From version 4 on it gets one and has to join again with it,
so that a client whose connection breaks in between leaves no unused member in the group; in older
versions it becomes a member at once. A static member is identified by its group instance id. If it
returns without a member id, it replaces its former instance; if the group is stable and its
subscription is unchanged, no rebalance follows.

That last condition is stricter than Kafka's, which checks only whether another protocol would be
selected, and so leaves a restarted member without the topics that it newly subscribes to.
"""

from dataclasses import dataclass

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.member import Member
from barnabas.groups.classic.rebalance import (
    drop_member,
    joined,
    rebalance,
    replace_static_member,
)
from barnabas.groups.classic.state import GroupState
from barnabas.groups.classic.subscription import is_same_subscription
from barnabas.groups.config import GroupConfig
from barnabas.groups.names import MAX_NAME_LENGTH, check_group_id, is_instance_id
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

_MEMBER_ID_REQUIRED_FROM = 4
_SKIP_ASSIGNMENT_FROM = 9


@dataclass(slots=True)
class Join:
    """A join request and where it came from."""

    request: JoinGroupRequest
    protocols: dict[str, bytes]
    token: object
    client_id: str
    client_host: str
    api_version: int
    new_member_id: str
    """The member id to assign if one is needed."""

    @property
    def rebalance_timeout_ms(self) -> int:
        """Version 0 has only one timeout."""
        timeout_ms = self.request.rebalance_timeout_ms
        return timeout_ms if timeout_ms >= 0 else self.request.session_timeout_ms


def check_request(it: Join, config: GroupConfig) -> ErrorCode:
    """Errors of the request that do not depend on the group."""
    request = it.request
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    timeout_ms = request.session_timeout_ms
    if not config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    if request.group_instance_id is not None and not is_instance_id(request.group_instance_id):
        return ErrorCode.INVALID_REQUEST
    if any(len(name) > MAX_NAME_LENGTH for name in (request.protocol_type, *it.protocols)):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return check_group_id(request.group_id)


def join(group: ClassicGroup, it: Join, decision: CoordinatorDecision, now_ms: int) -> None:
    request = it.request
    error = _check(group, it)
    if error is ErrorCode.GROUP_MAX_SIZE_REACHED:
        _remove_for_size(group, request.member_id, decision, now_ms)
    if error is not ErrorCode.NONE:
        decision.reply(it.token, refused(request, error))
    elif not request.member_id:
        _join_without_id(group, it, decision, now_ms)
    elif request.member_id in group.pending_members:
        del group.pending_members[request.member_id]
        _add(group, it, request.member_id, decision, now_ms)
    else:
        _rejoin(group, it, group.members[request.member_id], decision, now_ms)


def refused(request: JoinGroupRequest, error: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error, member_id=request.member_id)


def _check(group: ClassicGroup, it: Join) -> ErrorCode:
    request = it.request
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not _has_room(group, request):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if not group.supports(request.protocol_type, it.protocols):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_pending = request.member_id in group.pending_members and request.group_instance_id is None
    if not request.member_id or is_pending:
        return ErrorCode.NONE
    return group.check_member(request.member_id, request.group_instance_id)


def _has_room(group: ClassicGroup, request: JoinGroupRequest) -> bool:
    """While a rebalance is prepared, the first members to join get the places."""
    max_size = group.config.group_max_size
    member_id = request.member_id or group.static_members.get(request.group_instance_id or "")
    if group.state is GroupState.PREPARING_REBALANCE:
        return member_id in group.joining or len(group.joining) < max_size
    return member_id in group.members or len(group.members) < max_size


def _remove_for_size(
    group: ClassicGroup, member_id: str, decision: CoordinatorDecision, now_ms: int
) -> None:
    group.pending_members.pop(member_id, None)
    if member_id in group.members:
        drop_member(group, member_id, decision)
    if group.state is GroupState.PREPARING_REBALANCE:
        rebalance(group, decision, now_ms)


def _join_without_id(
    group: ClassicGroup, it: Join, decision: CoordinatorDecision, now_ms: int
) -> None:
    request = it.request
    if request.group_instance_id is not None:
        former_id = group.static_members.get(request.group_instance_id)
        if former_id is None:
            _add(group, it, it.new_member_id, decision, now_ms)
        else:
            _replace_static(group, it, group.members[former_id], decision, now_ms)
    elif it.api_version >= _MEMBER_ID_REQUIRED_FROM:
        group.pending_members[it.new_member_id] = now_ms + request.session_timeout_ms
        group.newcomers = True
        decision.reply(
            it.token,
            JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=it.new_member_id),
        )
    else:
        _add(group, it, it.new_member_id, decision, now_ms)


def _add(
    group: ClassicGroup, it: Join, member_id: str, decision: CoordinatorDecision, now_ms: int
) -> None:
    request = it.request
    member = Member(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=it.client_id,
        client_host=it.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=it.rebalance_timeout_ms,
        protocols=it.protocols,
        is_new=True,
    )
    group.add(member, request.protocol_type)
    group.newcomers = True
    _park_and_rebalance(group, it, member, decision, now_ms)


def _rejoin(
    group: ClassicGroup, it: Join, member: Member, decision: CoordinatorDecision, now_ms: int
) -> None:
    """A member joins again: it was asked to, lost the response, or changed its metadata."""
    changed = list(member.protocols.items()) != list(it.protocols.items())
    match group.state:
        case GroupState.COMPLETING_REBALANCE:
            answer_at_once = not changed
        case GroupState.STABLE:
            # The leader rejoins when it needs a new assignment, for instance for new partitions.
            answer_at_once = not changed and member.member_id != group.leader_id
        case _:
            answer_at_once = False
    if answer_at_once:
        group.touch(member.member_id, now_ms)
        decision.reply(it.token, joined(group, member))
    else:
        _update(group, it, member)
        _park_and_rebalance(group, it, member, decision, now_ms)


def _update(group: ClassicGroup, it: Join, member: Member) -> None:
    group.change_protocols(member, it.protocols)
    member.session_timeout_ms = it.request.session_timeout_ms
    member.rebalance_timeout_ms = it.rebalance_timeout_ms
    member.client_id = it.client_id
    member.client_host = it.client_host


def _park_and_rebalance(
    group: ClassicGroup, it: Join, member: Member, decision: CoordinatorDecision, now_ms: int
) -> None:
    member_id = member.member_id
    if member_id in group.joining:
        # The client has sent another request, so it no longer waits for this one. Every request
        # gets a response, though.
        displaced = refused(it.request, ErrorCode.REBALANCE_IN_PROGRESS)
        decision.reply(group.joining[member_id], displaced)
    group.joining[member_id] = it.token
    member.deadline_ms = now_ms + group.config.new_member_join_timeout_ms if member.is_new else None
    rebalance(group, decision, now_ms)


def _replace_static(
    group: ClassicGroup, it: Join, member: Member, decision: CoordinatorDecision, now_ms: int
) -> None:
    """A static member has returned without its member id."""
    former_leader_id = group.leader_id or ""
    former_metadata = member.protocols.get(group.protocol_name or "")
    replace_static_member(group, member, it.new_member_id, decision)
    _update(group, it, member)
    if not _keeps_assignment(group, member, former_metadata):
        _park_and_rebalance(group, it, member, decision, now_ms)
        return
    member.touch(now_ms)
    assignments = {other.member_id: other.assignment for other in group.members.values()}
    decision.records.append(group.propose_generation(assignments, now_ms))
    response = joined(group, member)
    if it.api_version >= _SKIP_ASSIGNMENT_FROM:
        response.skip_assignment = group.leader_id == member.member_id
    else:
        # An older client that is the leader would send new assignments, which are ignored. So the
        # response names its former member id as the leader, and it syncs as a follower.
        response.leader = former_leader_id
        response.members = []
    decision.hold(it.token, committed=response, failed=lambda error: refused(it.request, error))


def _keeps_assignment(group: ClassicGroup, member: Member, former_metadata: bytes | None) -> bool:
    protocol_name = group.protocol_name
    if group.state is not GroupState.STABLE or protocol_name is None or former_metadata is None:
        return False
    return group.select_protocol() == protocol_name and is_same_subscription(
        group.protocol_type, former_metadata, member.protocols[protocol_name]
    )
