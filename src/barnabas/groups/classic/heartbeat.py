"""Heartbeat: keeps a member's session, and tells it whether it has to rejoin."""

from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.state import GroupState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.heartbeat import HeartbeatRequest


def heartbeat(group: ClassicGroup, request: HeartbeatRequest, now_ms: int) -> ErrorCode:
    """Valid between join and sync as well; some clients send heartbeats then."""
    error = group.check_member_of_generation(
        request.member_id, request.group_instance_id, request.generation_id
    )
    if error is not ErrorCode.NONE:
        return error
    group.touch(request.member_id, now_ms)
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE
