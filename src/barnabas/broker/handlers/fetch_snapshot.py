"""FetchSnapshot, versions 0-1: a replica of the quorum asks for a piece of a snapshot."""

from asyncio import Future
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.quorum import Quorum
from barnabas.wire.message import Response
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest


class Needs(Protocol):
    """What this handler asks of the node."""

    quorum: Quorum


def handle(
    node: Needs, request: FetchSnapshotRequest, _: RequestContext
) -> "Response | Future[Response]":
    return node.quorum.handle(request)
