"""Elections: a pre-vote that disturbs no leader, then votes that bind.

A replica grants a pre-vote if it has not heard from a leader lately, a vote if it has not voted for
another in that epoch; both only to a log that is at least as complete as the voter's own. So a
replica that was cut off, or removed, can neither unseat a leader that others hear nor take over
without every committed entry.

The voters that a replica knows may be those of long ago, and all be gone. So with a pre-vote it
also asks the nodes of its settings, for the only thing that these can tell: who leads.

Only voters are elected. A candidate may have become one by an entry that this replica does not have
yet; then its log is ahead of the one here. With the same log and no vote it is none.

A vote counts when it is durable: no message leaves before the vote it tells of is on disk, and a
candidate counts its own only then.
"""

from barnabas.raft.epochs import MAX_EPOCH
from barnabas.raft.leadership import become_leader
from barnabas.raft.messages import VoteRequest, VoteResponse
from barnabas.raft.roles import Candidate, Follower, Leader, Prospective
from barnabas.raft.state import RaftState
from barnabas.raft.voters import ReplicaKey
from barnabas.wire.errors import ErrorCode

_NO_DIRECTORY = bytes(16)


def begin_pre_vote(state: RaftState, now_ms: int) -> None:
    role = Prospective(state.election_deadline_ms(now_ms), state.next_correlation_id)
    state.role = role
    _ask_voters(state, state.log.voters.others(state.me), pre_vote=True)
    _ask_voters(state, _seeds_without_vote(state), pre_vote=True)
    role.granted.add(state.me)
    if state.log.voters.has_majority(role.granted):
        begin_election(state, now_ms)


def begin_election(state: RaftState, now_ms: int) -> None:
    if state.epoch >= MAX_EPOCH:
        state.follow(None, now_ms)
        return
    state.elect(state.epoch + 1, state.me)
    state.role = Candidate(state.election_deadline_ms(now_ms), state.next_correlation_id)
    _ask_voters(state, state.log.voters.others(state.me), pre_vote=False)


def own_vote_persisted(state: RaftState, now_ms: int) -> None:
    """Called whenever something became durable."""
    if isinstance(state.role, Candidate) and state.writes.is_election_durable:
        state.role.granted.add(state.me)
        _win_if_elected(state, state.role, now_ms)


def _seeds_without_vote(state: RaftState) -> list[ReplicaKey]:
    """They grant nothing, as no replica has this directory, but name the leader that they hear.

    A fetch is no substitute for the question: its answer may name a leader that has died, and
    each candidate would turn back to that one.
    """
    voting = {state.me.node_id, *(key.node_id for key in state.log.voters.keys)}
    return [ReplicaKey(node_id, _NO_DIRECTORY) for node_id in state.seeds if node_id not in voting]


def _ask_voters(state: RaftState, voters: list[ReplicaKey], *, pre_vote: bool) -> None:
    for voter in voters:
        state.ask(
            voter.node_id,
            VoteRequest(
                epoch=state.epoch,
                candidate=state.me,
                voter=voter,
                last_epoch=state.log.last_epoch,
                last_offset=state.log.end_offset,
                pre_vote=pre_vote,
            ),
        )


def receive_vote_request(
    state: RaftState, sender: int, correlation_id: int, request: VoteRequest, now_ms: int
) -> None:
    error, granted = ErrorCode.NONE, False
    if request.voter != state.me:
        error = ErrorCode.INVALID_VOTER_KEY
    elif request.epoch < state.epoch:
        error = ErrorCode.FENCED_LEADER_EPOCH
    else:
        state.observe(request.epoch, None, now_ms)
        if request.pre_vote:
            granted = would_vote(state, request, now_ms)
        elif may_vote(state, request):
            granted = True
            if state.voted_for is None:
                state.elect(state.epoch, request.candidate)
            if state.leader_id is None:
                state.follow(None, now_ms)
    # A silent leader is not named, or candidates would turn back to it again and again.
    leader_id = state.leader_id if hears_leader(state, now_ms) else None
    state.answer(sender, correlation_id, VoteResponse(error, state.epoch, leader_id, granted))


def would_vote(state: RaftState, request: VoteRequest, now_ms: int) -> bool:
    return (
        not hears_leader(state, now_ms)
        and is_complete(state, request)
        and is_electable(state, request)
    )


def hears_leader(state: RaftState, now_ms: int) -> bool:
    """Whether it leads, or has heard from the leader itself lately."""
    role = state.role
    if isinstance(role, Follower):
        return role.lease_end_ms is not None and now_ms < role.lease_end_ms
    return isinstance(role, Leader)


def may_vote(state: RaftState, request: VoteRequest) -> bool:
    if state.voted_for is not None:
        return state.voted_for == request.candidate
    return state.leader_id is None and is_complete(state, request) and is_electable(state, request)


def is_electable(state: RaftState, request: VoteRequest) -> bool:
    """Whether the candidate votes itself, as far as that is known here."""
    mine = (state.log.last_epoch, state.log.end_offset)
    return request.candidate in state.log.voters or (
        (request.last_epoch, request.last_offset) > mine
    )


def is_complete(state: RaftState, request: VoteRequest) -> bool:
    """Whether the candidate's log has all that this one has, as far as it may be committed."""
    mine = (state.log.last_epoch, state.log.end_offset)
    return (request.last_epoch, request.last_offset) >= mine


def receive_vote_response(
    state: RaftState, sender: int, correlation_id: int, response: VoteResponse, now_ms: int
) -> None:
    state.observe(response.epoch, response.leader_id, now_ms)
    role = state.role
    if not isinstance(role, Prospective | Candidate) or not response.vote_granted:
        return
    if response.epoch != state.epoch or correlation_id < role.first_correlation_id:
        return  # it answers an earlier question
    voter = state.log.voters.key_of(sender)
    if voter is None:
        return
    role.granted.add(voter)
    if isinstance(role, Candidate):
        _win_if_elected(state, role, now_ms)
    elif state.log.voters.has_majority(role.granted):
        begin_election(state, now_ms)


def _win_if_elected(state: RaftState, role: Candidate, now_ms: int) -> None:
    if state.log.voters.has_majority(role.granted):
        become_leader(state, now_ms)
