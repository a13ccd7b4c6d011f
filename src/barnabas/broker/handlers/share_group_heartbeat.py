"""ShareGroupHeartbeat, version 1: members of a share group join, stay and leave.

Partitions of newly subscribed topics are assigned as soon as share coordinators have a state for
them, which a heartbeat sets off; until then members are asked to come back soon.
"""

from typing import Protocol

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import Outcome, RequestContext
from barnabas.broker.share.group_states import GroupStates
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    groups: GroupCoordinator
    share_group_states: GroupStates


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
    answer.add_done_callback(lambda _: node.share_group_states.ensure(group_id))
    return answer
