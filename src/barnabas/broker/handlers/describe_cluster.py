"""DescribeCluster, versions 0-2: the brokers and who is controller."""

from barnabas.broker.authorized_operations import NOT_ASKED, ON_CLUSTER
from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKERS = 1


def handle(
    node: Node, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="only brokers (endpoint type 1) can be described here",
            endpoint_type=request.endpoint_type,
        )
    endpoint = node.endpoint(context.connection)
    return DescribeClusterResponse(
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        brokers=[DescribeClusterBroker(node.node_id, endpoint.host, endpoint.port, node.rack)],
        cluster_authorized_operations=(
            ON_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
