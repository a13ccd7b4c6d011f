"""AddRaftVoter, version 0: let a replica vote that has caught up as an observer.

A client knows the node's address for clients. If the node is registered, its endpoints are taken
from there: other voters need the one of the inter-broker listener.
"""

from asyncio import Future
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.administration import add_raft_voter
from barnabas.broker.quorum.quorum import Quorum
from barnabas.metadata.image import MetadataImage
from barnabas.wire.messages.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    Listener,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    image: MetadataImage
    quorum: Quorum


def handle(
    node: Needs, request: AddRaftVoterRequest, context: RequestContext
) -> "AddRaftVoterResponse | Future[AddRaftVoterResponse]":
    broker = node.image.brokers.get(request.voter_id)
    if broker is not None:
        request.listeners = [Listener(at.name, at.host, at.port) for at in broker.endpoints]
    return add_raft_voter(node.quorum, request, may_forward=context.connection.peer is None)
