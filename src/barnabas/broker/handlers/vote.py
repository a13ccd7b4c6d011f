"""Vote, versions 0-2: a replica of the quorum asks for a vote, or whether it would get one."""

from asyncio import Future

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.wire.message import Response
from barnabas.wire.messages.vote import VoteRequest


def handle(node: Node, request: VoteRequest, _: RequestContext) -> "Response | Future[Response]":
    return node.quorum.handle(request)
