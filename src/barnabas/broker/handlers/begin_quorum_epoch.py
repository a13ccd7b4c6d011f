"""BeginQuorumEpoch, versions 0-1: the leader of the quorum says that it leads."""

from asyncio import Future

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.message import Response
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest


def handle(
    node: Node, request: BeginQuorumEpochRequest, _: RequestContext
) -> "Response | Future[Response]":
    return node.quorum.handle(request)
