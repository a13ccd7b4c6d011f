"""RemoveRaftVoter, version 0: remove a voter."""

from asyncio import Future
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.administration import remove_raft_voter
from barnabas.broker.quorum.quorum import Quorum
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse


class Needs(Protocol):
    """What this handler asks of the node."""

    quorum: Quorum


def handle(
    node: Needs, request: RemoveRaftVoterRequest, context: RequestContext
) -> "RemoveRaftVoterResponse | Future[RemoveRaftVoterResponse]":
    return remove_raft_voter(node.quorum, request, may_forward=context.connection.peer is None)
