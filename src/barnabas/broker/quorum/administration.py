"""Administration of the quorum: describe it, add voters, remove voters.

The leader answers. Any other node forwards a client's request to it, and its response back; a
forwarded request is not forwarded again.
"""

from asyncio import Future
from collections.abc import Callable
from typing import TypeVar

from barnabas.broker.net.peers import PeerUnavailable
from barnabas.broker.quorum.describe import (
    asks_for_metadata,
    describe_beginner,
    describe_leader,
    describe_member,
    describe_nobody,
    unknown_topic,
)
from barnabas.broker.quorum.membership import change_voters
from barnabas.broker.quorum.outcome import NotLeader, QuorumStopped
from barnabas.broker.quorum.quorum import Quorum
from barnabas.broker.quorum.shell import RaftShell
from barnabas.raft import Proposal, QuorumStatus, Raft, ReplicaKey, Voter
from barnabas.wire.endpoint import Endpoint
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.wire.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)

ResponseT = TypeVar("ResponseT", bound=Response)

_LANE = "quorum-forward"
_FORWARD_TIMEOUT_MS = 5_000
_REMOVE_TIMEOUT_MS = 5_000


def describe_quorum(
    quorum: Quorum, request: DescribeQuorumRequest, *, may_forward: bool
) -> "DescribeQuorumResponse | Future[DescribeQuorumResponse]":
    shell = quorum.shell
    if not asks_for_metadata(request):
        return unknown_topic()
    if shell is None:
        return describe_beginner() if quorum.cluster_id else describe_nobody(quorum.me)
    if shell.raft.is_leader:
        if request.confirmed:
            return quorum.loop.create_task(_confirmed(quorum, shell))
        return _describe_leader(quorum, shell)
    local = _describe_member(quorum, shell)
    if shell.raft.leader_id is None or not may_forward:
        return local
    return _forward(quorum, shell.raft.leader_id, request, local)


async def _confirmed(quorum: Quorum, shell: RaftShell) -> DescribeQuorumResponse:
    """The leader's answer, after a majority has confirmed that it still leads."""
    try:
        await quorum.read_barrier()
    except (NotLeader, QuorumStopped):
        return _describe_member(quorum, shell)
    return _describe_leader(quorum, shell)


def _describe_leader(quorum: Quorum, shell: RaftShell) -> DescribeQuorumResponse:
    now_ms = quorum.clock.now_ms()
    offset_ms = now_ms - shell.steady_ms()
    return describe_leader(
        shell.raft.status(),
        quorum.voters,
        now_ms,
        lambda at_ms: at_ms + offset_ms if at_ms >= 0 else -1,
    )


def _describe_member(quorum: Quorum, shell: RaftShell) -> DescribeQuorumResponse:
    return describe_member(quorum.me, shell.raft.log_end_offset, shell.raft.status(), quorum.voters)


def add_raft_voter(
    quorum: Quorum, request: AddRaftVoterRequest, *, may_forward: bool
) -> "AddRaftVoterResponse | Future[AddRaftVoterResponse]":
    voter = Voter(
        ReplicaKey(request.voter_id, bytes(request.voter_directory_id)),
        tuple(Endpoint(at.name, at.host, at.port) for at in request.listeners),
    )
    return _change(
        quorum,
        request,
        request.cluster_id,
        lambda raft, now_ms: raft.add_voter(voter, now_ms),
        request.timeout_ms,
        lambda error, why: AddRaftVoterResponse(error_code=error, error_message=why),
        may_forward=may_forward,
    )


def remove_raft_voter(
    quorum: Quorum, request: RemoveRaftVoterRequest, *, may_forward: bool
) -> "RemoveRaftVoterResponse | Future[RemoveRaftVoterResponse]":
    key = ReplicaKey(request.voter_id, bytes(request.voter_directory_id))
    return _change(
        quorum,
        request,
        request.cluster_id,
        lambda raft, now_ms: (
            raft.remove_voter(key, now_ms)
            if leaves_a_majority(raft.status(), key, now_ms - quorum.config.check_quorum_ms)
            else Proposal(ErrorCode.INVALID_REQUEST)
        ),
        _REMOVE_TIMEOUT_MS,
        lambda error, why: RemoveRaftVoterResponse(error_code=error, error_message=why),
        may_forward=may_forward,
    )


def leaves_a_majority(status: QuorumStatus, key: ReplicaKey, since_ms: int) -> bool:
    """Whether a majority of the voters without `key` have fetched since then: else they could not
    elect."""
    others = [voter for voter in status.voters if voter.key != key]
    up = [
        voter
        for voter in others
        if voter.key.node_id == status.leader_id or voter.last_fetch_ms >= since_ms
    ]
    return len(up) > len(others) // 2


_EXPLANATIONS = {
    ErrorCode.REQUEST_TIMED_OUT: "it has not caught up, or another change is under way: try again",
    ErrorCode.DUPLICATE_VOTER: "a replica of this node votes already",
    ErrorCode.VOTER_NOT_FOUND: "no such replica votes",
    ErrorCode.INVALID_REQUEST: "the last voter stays, and most of those that are left must be up",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "leadership was lost",
}


def _change(
    quorum: Quorum,
    request: Request[ResponseT],
    cluster_id: str | None,
    attempt: Callable[[Raft, int], Proposal],
    timeout_ms: int,
    answer: Callable[[ErrorCode, str | None], ResponseT],
    *,
    may_forward: bool,
) -> "ResponseT | Future[ResponseT]":
    shell = quorum.shell
    if shell is None:
        return answer(ErrorCode.BROKER_NOT_AVAILABLE, "this node has not joined a cluster yet")
    if cluster_id is not None and cluster_id != quorum.cluster_id:
        return answer(ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {quorum.cluster_id}")
    if not shell.raft.is_leader:
        no_leader = answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, "no leader is known")
        if shell.raft.leader_id is None or not may_forward:
            return no_leader
        return _forward(quorum, shell.raft.leader_id, request, no_leader)

    async def change() -> ResponseT:
        error = await change_voters(shell, attempt, timeout_ms)
        return answer(error, _EXPLANATIONS.get(error))

    return quorum.loop.create_task(change())


def _forward(
    quorum: Quorum, leader_id: int, request: Request[ResponseT], otherwise: ResponseT
) -> "Future[ResponseT]":
    """The leader's response, or `otherwise` if there is none."""

    async def forward() -> ResponseT:
        try:
            return await quorum.peers.call(
                leader_id,
                request,
                request.MAX_VERSION,
                timeout_ms=_FORWARD_TIMEOUT_MS,
                lane=_LANE,
            )
        except PeerUnavailable:
            return otherwise

    return quorum.loop.create_task(forward())
