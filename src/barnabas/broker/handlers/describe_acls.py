"""DescribeAcls, versions 1-3: there is no authorizer, and so there are no ACLs."""

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


def handle(_node: object, _request: DescribeAclsRequest, _: RequestContext) -> DescribeAclsResponse:
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured."
    )
