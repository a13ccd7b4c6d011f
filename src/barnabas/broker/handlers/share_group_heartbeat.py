"""ShareGroupHeartbeat, version 1: members of a share group join, stay and leave.

Partitions of newly subscribed topics are assigned as soon as share coordinators have a state for
them, which a heartbeat sets off; until then members are asked to come back soon. A member whose
connection breaks is removed soon after; see `broker/coordinator/member_connections.py`.
"""

from asyncio import Future
from typing import Protocol

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.coordinator.member_connections import MemberConnections
from barnabas.broker.net.dispatcher import Outcome, RequestContext
from barnabas.broker.share.group_states import GroupStates
from barnabas.groups.share.heartbeat import LEAVE_EPOCH
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    groups: GroupCoordinator
    share_group_states: GroupStates
    share_member_connections: MemberConnections


def handle(node: Needs, request: ShareGroupHeartbeatRequest, context: RequestContext) -> Outcome:
    group_id = request.group_id
    shard = node.groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return ShareGroupHeartbeatResponse(error_code=shard)
    answer = shard.decide(
        lambda token: shard.groups.share.heartbeat(
            request,
            token=token,
            client_id=context.client_id,
            client_host=context.client_host,
            now_ms=shard.now_ms(),
        )
    )
    answer.add_done_callback(lambda done: _answered(node, request, context, done))
    return answer


def _answered(
    node: Needs,
    request: ShareGroupHeartbeatRequest,
    context: RequestContext,
    answer: "Future[ShareGroupHeartbeatResponse]",
) -> None:
    node.share_group_states.ensure(request.group_id)
    # Cancelled: the connection broke before the answer was sent, and the member may have joined.
    if not answer.cancelled() and (answer.exception() or answer.result().error_code):
        return
    connections = node.share_member_connections
    if request.member_epoch == LEAVE_EPOCH:
        connections.left(request.group_id, request.member_id)
    else:
        connections.heard(request.group_id, request.member_id, context.connection)
