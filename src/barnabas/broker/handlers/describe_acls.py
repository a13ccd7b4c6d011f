"""DescribeAcls, versions 1-3: the access rules that match a filter, by resource pattern."""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.metadata.acl import AclFilter
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    image: MetadataImage


def handle(node: Needs, request: DescribeAclsRequest, _: RequestContext) -> DescribeAclsResponse:
    if not node.authorization.is_enabled:
        return DescribeAclsResponse(
            error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured."
        )
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in node.image.acls.ids:
        if wanted.matches(acl):
            pattern = (acl.resource_type, acl.resource_name, acl.pattern_type)
            resource = resources.setdefault(pattern, DescribeAclsResource(*pattern))
            resource.acls.append(
                AclDescription(acl.principal, acl.host, acl.operation, acl.permission)
            )
    return DescribeAclsResponse(error_message=None, resources=list(resources.values()))
