"""Vote, versions 0-2: a replica of the quorum asks for a vote, or whether it would get one."""

from asyncio import Future
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.quorum import Quorum
from barnabas.wire.message import Response
from barnabas.wire.messages.vote import VoteRequest


class Needs(Protocol):
    """What this handler asks of the node."""

    quorum: Quorum


def handle(node: Needs, request: VoteRequest, _: RequestContext) -> "Response | Future[Response]":
    return node.quorum.handle(request)
