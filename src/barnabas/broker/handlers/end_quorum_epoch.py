"""EndQuorumEpoch, versions 0-1: the leader of the quorum says that it leads no more."""

from asyncio import Future

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.message import Response
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest


def handle(
    node: Node, request: EndQuorumEpochRequest, _: RequestContext
) -> "Response | Future[Response]":
    return node.quorum.handle(request)
