"""SyncGroup: the leader sends the assignments, every member asks for its own.

Syncs are parked until the leader's assignments are persisted; `hand_out_assignments` answers them.
If a member joins or leaves before that, all parked syncs are answered with REBALANCE_IN_PROGRESS,
and the assignments are not handed out once they are persisted. They stay the group's image until
the next generation is persisted.
"""

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.state import GroupState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def sync(
    group: ClassicGroup,
    request: SyncGroupRequest,
    token: object,
    decision: CoordinatorDecision,
    now_ms: int,
) -> None:
    error = _check(group, request)
    if error is not ErrorCode.NONE:
        decision.reply(token, SyncGroupResponse(error_code=error))
        return
    member_id = request.member_id
    group.awaited_syncs.discard(member_id)
    if not group.awaited_syncs:
        group.sync_deadline_ms = None
    if group.state is GroupState.STABLE:
        group.touch(member_id, now_ms)
        decision.reply(token, _assigned(group, member_id))
        return
    is_repeated = member_id in group.syncing
    if is_repeated:
        # The client has sent another request, so it no longer waits for this one. Every request
        # gets a response, though.
        displaced = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        decision.reply(group.syncing[member_id], displaced)
    group.syncing[member_id] = token
    group.members[member_id].deadline_ms = None
    if member_id == group.leader_id and not is_repeated:
        assignments = {each.member_id: each.assignment for each in request.assignments}
        decision.records.append(group.propose_generation(assignments, now_ms))


def _check(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    error = group.check_member_of_generation(
        request.member_id, request.group_instance_id, request.generation_id
    )
    if error is not ErrorCode.NONE:
        return error
    if request.protocol_type not in (None, group.protocol_type):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name not in (None, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def hand_out_assignments(group: ClassicGroup, decision: CoordinatorDecision, now_ms: int) -> None:
    """A generation was persisted: if it is the current one, answer the parked syncs."""
    persisted = group.image.metadata
    if (
        persisted is None
        or group.state is not GroupState.COMPLETING_REBALANCE
        or persisted.generation != group.generation_id
    ):
        return
    group.transition_to(GroupState.STABLE)
    group.state_since_ms = persisted.current_state_timestamp
    for record in persisted.members:
        group.members[record.member_id].assignment = record.assignment
    syncing, group.syncing = group.syncing, {}
    for member_id, token in syncing.items():
        group.touch(member_id, now_ms)
        decision.reply(token, _assigned(group, member_id))


def _assigned(group: ClassicGroup, member_id: str) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=group.members[member_id].assignment,
    )
