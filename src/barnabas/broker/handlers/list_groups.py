"""ListGroups, versions 0-5, with filters by state (version 4 on) and by type (version 5 on).

A node lists the groups it coordinates; clients ask every node. When some of them can't be told,
because they are being loaded or are damaged, the error says so, next to the groups that can be
listed.
"""

from typing import Protocol

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse


class Needs(Protocol):
    """What this handler asks of the node."""

    groups: GroupCoordinator


def handle(node: Needs, request: ListGroupsRequest, _: RequestContext) -> ListGroupsResponse:
    response = ListGroupsResponse()
    for shard in node.groups.shards:
        error = shard.error
        if error is ErrorCode.NONE:
            response.groups += shard.groups.list_groups(request.states_filter, request.types_filter)
        elif error is not ErrorCode.NOT_COORDINATOR:
            response.error_code = error
    return response
