"""AddRaftVoter, version 0: let a replica vote that has caught up as an observer."""

from asyncio import Future

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.broker.quorum.administration import add_raft_voter
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse


def handle(
    node: Node, request: AddRaftVoterRequest, context: RequestContext
) -> "AddRaftVoterResponse | Future[AddRaftVoterResponse]":
    return add_raft_voter(node.quorum, request, may_forward=context.connection.peer is None)
