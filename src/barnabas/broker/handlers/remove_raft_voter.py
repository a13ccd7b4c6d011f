"""RemoveRaftVoter, version 0: let a replica vote no more."""

from asyncio import Future

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.broker.quorum.administration import remove_raft_voter
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse


def handle(
    node: Node, request: RemoveRaftVoterRequest, context: RequestContext
) -> "RemoveRaftVoterResponse | Future[RemoveRaftVoterResponse]":
    return remove_raft_voter(node.quorum, request, may_forward=context.connection.peer is None)
