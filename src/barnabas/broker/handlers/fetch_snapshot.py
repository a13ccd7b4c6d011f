"""FetchSnapshot, versions 0-1: a replica of the quorum asks for a piece of a snapshot."""

from asyncio import Future

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.message import Response
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest


def handle(
    node: Node, request: FetchSnapshotRequest, _: RequestContext
) -> "Response | Future[Response]":
    return node.quorum.handle(request)
