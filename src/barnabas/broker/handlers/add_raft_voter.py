"""AddRaftVoter, version 0: let a replica vote that has caught up as an observer."""

from asyncio import Future
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.administration import add_raft_voter
from barnabas.broker.quorum.quorum import Quorum
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse


class Needs(Protocol):
    """What this handler asks of the node."""

    quorum: Quorum


def handle(
    node: Needs, request: AddRaftVoterRequest, context: RequestContext
) -> "AddRaftVoterResponse | Future[AddRaftVoterResponse]":
    return add_raft_voter(node.quorum, request, may_forward=context.connection.peer is None)
