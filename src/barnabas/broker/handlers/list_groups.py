"""ListGroups, versions 0-5, with filters by state (version 4 on) and by type (version 5 on).

A node lists the groups it coordinates; clients ask every node. When some of them can't be told,
because they are being loaded or are damaged, the error says so, beside those that can.
"""

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse


def handle(node: Node, request: ListGroupsRequest, _: RequestContext) -> ListGroupsResponse:
    response = ListGroupsResponse()
    for shard in node.groups.shards:
        error = shard.error
        if error is ErrorCode.NONE:
            response.groups += shard.groups.list_groups(request.states_filter, request.types_filter)
        elif error is not ErrorCode.NOT_COORDINATOR:
            response.error_code = error
    return response
