"""DescribeCluster, versions 0-2: the brokers, or those that vote, and who is controller.

Voters are brokers here, at the same address: a tool may ask any of them for the controllers.

A node that has not been let in yet answers too, with what it knows so far and no controller.
"""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.handlers.authorized_operations import NOT_ASKED
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.quorum import Quorum
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKERS, _CONTROLLERS = 1, 2


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    cluster: ClusterView

    @property
    def cluster_id(self) -> str: ...

    lifecycle: BrokerLifecycle
    quorum: Quorum


def handle(
    node: Needs, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    if request.endpoint_type not in (_BROKERS, _CONTROLLERS):
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="there are brokers (endpoint type 1) and controllers (2)",
            endpoint_type=request.endpoint_type,
        )
    brokers = node.cluster.brokers(context.connection)
    if request.endpoint_type == _CONTROLLERS:
        voters = {key.node_id for key in node.quorum.voters.keys}
        brokers = (found for found in brokers if found[0].id in voters)
    return DescribeClusterResponse(
        endpoint_type=request.endpoint_type,
        cluster_id=node.cluster_id,
        controller_id=node.cluster.controller_id if node.lifecycle.unfenced.is_set() else -1,
        brokers=[
            DescribeClusterBroker(broker.id, address.host, address.port, broker.rack, broker.fenced)
            for broker, address in brokers
            if request.include_fenced_brokers or not broker.fenced
        ],
        cluster_authorized_operations=(
            node.authorization.of(context.connection, "DescribeCluster").cluster_operations
            if request.include_cluster_authorized_operations
            else NOT_ASKED
        ),
    )
