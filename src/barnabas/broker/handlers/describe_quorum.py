"""DescribeQuorum, versions 0-2: who votes, who follows, and how far they are."""

from asyncio import Future
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.peers import claims_to_be_peer
from barnabas.broker.quorum.administration import describe_quorum
from barnabas.broker.quorum.quorum import Quorum
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse


class Needs(Protocol):
    """What this handler asks of the node."""

    quorum: Quorum


def handle(
    node: Needs, request: DescribeQuorumRequest, context: RequestContext
) -> "DescribeQuorumResponse | Future[DescribeQuorumResponse]":
    return describe_quorum(
        node.quorum, request, may_forward=not claims_to_be_peer(context.client_id)
    )
