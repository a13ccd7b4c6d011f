"""DescribeClientQuotas, versions 0-1: there are no quotas, so no entity has one."""

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)


def handle(
    _node: object, _request: DescribeClientQuotasRequest, _: RequestContext
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_message=None, entries=[])
