"""ListGroups, versions 0-5, with filters by state (version 4 on) and by type (version 5 on).

A node lists the groups it coordinates; clients ask every node. When some of them can't be told,
because they are being loaded or are damaged, the error says so, next to the groups that can be
listed.

Needs DESCRIBE on the cluster, which shows all groups, or on a group, which shows that group.
"""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    groups: GroupCoordinator


def handle(
    node: Needs, request: ListGroupsRequest, context: RequestContext
) -> Slices[ListGroupsResponse]:
    access = node.authorization.of(context.connection, "ListGroups")
    sees_all = access.is_full or access.cluster(AclOperation.DESCRIBE, log=False)
    response = ListGroupsResponse()
    slicer = Slicer(context.version)
    for shard in tuple(node.groups.shards):
        error = shard.error
        if error is not ErrorCode.NONE:
            if error is not ErrorCode.NOT_COORDINATOR:
                response.error_code = error
            continue
        for group in shard.groups.listing(request.states_filter, request.types_filter):
            if group is not None and (
                sees_all or access.group(AclOperation.DESCRIBE, group.group_id, log=False)
            ):
                response.groups.append(slicer.part(group))
            if slicer.is_due():
                yield
    return response
