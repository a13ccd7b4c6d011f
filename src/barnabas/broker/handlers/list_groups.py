"""ListGroups, versions 0-5, with filters by state (version 4 on) and by type (version 5 on)."""

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse


def handle(node: Node, request: ListGroupsRequest, _: RequestContext) -> ListGroupsResponse:
    return ListGroupsResponse(
        groups=[
            group
            for shard in node.groups.shards
            for group in shard.groups.list_groups(request.states_filter, request.types_filter)
        ]
    )
