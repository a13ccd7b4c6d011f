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
    brokers = node.cluster.brokers(context.connection)
    return DescribeClusterResponse(
        cluster_id=node.cluster_id,
        controller_id=node.cluster.controller_id,
        brokers=[
            DescribeClusterBroker(broker.id, address.host, address.port, broker.rack, broker.fenced)
            for broker, address in brokers
            if request.include_fenced_brokers or not broker.fenced
        ],
        cluster_authorized_operations=(
            ON_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
