"""EndQuorumEpoch, versions 0-1: the leader of the quorum announces its resignation."""

from asyncio import Future
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.quorum import Quorum
from barnabas.wire.message import Response
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest


class Needs(Protocol):
    """What this handler asks of the node."""

    quorum: Quorum


def handle(
    node: Needs, request: EndQuorumEpochRequest, _: RequestContext
) -> "Response | Future[Response]":
    return node.quorum.handle(request)
