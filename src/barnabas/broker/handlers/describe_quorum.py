"""DescribeQuorum, versions 0-2: who votes, who follows, and how far they are."""

from asyncio import Future

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.peers import claims_to_be_peer
from barnabas.broker.node import Node
from barnabas.broker.quorum.administration import describe_quorum
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse


def handle(
    node: Node, request: DescribeQuorumRequest, context: RequestContext
) -> "DescribeQuorumResponse | Future[DescribeQuorumResponse]":
    return describe_quorum(
        node.quorum, request, may_forward=not claims_to_be_peer(context.client_id)
    )
