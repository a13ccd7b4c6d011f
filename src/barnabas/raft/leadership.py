"""Being the leader: announcing it, keeping it only while a majority fetches, giving it up.

`BeginQuorumEpoch` goes to every voter at first and then to those that are silent; a voter that got
it fetches. A leader hears from its followers by their fetches alone, and steps down when no
majority has fetched for `check_quorum_ms`: it may have been replaced without knowing.

The first leader writes into the log who votes: replicas that join later know it from there alone.
"""

from barnabas.raft.entry import LeaderChange
from barnabas.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
)
from barnabas.raft.roles import Follower, Leader, Progress
from barnabas.raft.state import RaftState
from barnabas.raft.voters import ReplicaKey
from barnabas.wire.errors import ErrorCode


def become_leader(state: RaftState, now_ms: int) -> None:
    others = state.log.voters.others(state.me)
    state.role = Leader(
        epoch_start_offset=state.log.end_offset,
        check_ms=now_ms + state.config.leader_check_ms,
        progress={voter: Progress(now_ms) for voter in others},
    )
    state.append(LeaderChange(state.me.node_id))
    if state.missed_until is not None:
        state.missed_until = state.log.end_offset
    if state.log.are_voters_unwritten:
        state.append(state.log.voters)
    for voter in others:
        begin_epoch(state, voter)


def begin_epoch(state: RaftState, voter: ReplicaKey) -> None:
    request = BeginQuorumEpochRequest(state.epoch, state.me.node_id, voter)
    state.ask(voter.node_id, request)


def receive_begin_quorum_epoch(
    state: RaftState,
    sender: int,
    correlation_id: int,
    request: BeginQuorumEpochRequest,
    now_ms: int,
) -> None:
    error = ErrorCode.NONE
    if request.voter != state.me:
        error = ErrorCode.INVALID_VOTER_KEY
    elif request.epoch < state.epoch:
        error = ErrorCode.FENCED_LEADER_EPOCH
    else:
        state.observe(request.epoch, request.leader_id, now_ms)
        if isinstance(state.role, Follower):
            state.role.lease_end_ms = now_ms + state.config.fetch_timeout_ms
    answer = BeginQuorumEpochResponse(error, state.epoch, state.leader_id)
    state.answer(sender, correlation_id, answer)


def check_quorum(state: RaftState, role: Leader, now_ms: int) -> None:
    """From time to time: wake the silent, forget observers that have gone, see who is left."""
    role.check_ms = now_ms + state.config.leader_check_ms
    voters = state.log.voters
    for key, progress in list(role.progress.items()):
        silence_ms = now_ms - progress.last_fetch_ms
        if key in voters:
            if silence_ms >= state.config.leader_check_ms and progress.parked is None:
                begin_epoch(state, key)
        elif silence_ms > state.config.check_quorum_ms:
            del role.progress[key]
    if _majority_heard_ms(state, role, now_ms) < now_ms - state.config.check_quorum_ms:
        state.follow(None, now_ms)


def hears_majority(state: RaftState, now_ms: int) -> bool:
    """Whether this leads, and the others can't have elected another leader yet.

    Followers believe in a leader for `fetch_timeout_ms` after its answer, which is later than their
    fetch. This is before the leader steps down: until then it may have been replaced.
    """
    role = state.role
    if not isinstance(role, Leader):
        return False
    return _majority_heard_ms(state, role, now_ms) >= now_ms - state.config.fetch_timeout_ms


def _majority_heard_ms(state: RaftState, role: Leader, now_ms: int) -> int:
    """Since when a majority has fetched, this leader included."""
    last_fetch_ms = {key: progress.last_fetch_ms for key, progress in role.progress.items()}
    last_fetch_ms[state.me] = now_ms
    return state.log.voters.majority_reached(last_fetch_ms)


def others_have_log(state: RaftState, now_ms: int) -> bool:
    """Whether a majority that fetches has all of the log, and the disk of this leader has not.

    The whole log, and not only what is committed: that never falls, so it says what the others had
    room for once. They have room now if they store what the leader appends now.
    """
    role, end_offset = state.role, state.log.end_offset
    if not isinstance(role, Leader) or state.writes.durable_end_offset >= end_offset:
        return False
    since_ms = now_ms - state.config.check_quorum_ms
    reached = {
        key: progress.acknowledged
        for key, progress in role.progress.items()
        if progress.last_fetch_ms >= since_ms
    }
    return state.log.voters.majority_reached(reached) >= end_offset


def resign(state: RaftState, role: Leader, now_ms: int, target: ReplicaKey | None = None) -> None:
    """Step down and say so, with who should follow: the target, else who has most of the log."""
    others = state.log.voters.others(state.me)
    others.sort(key=lambda key: (key != target, -role.progress[key].acknowledged))
    for voter in others:
        state.ask(
            voter.node_id,
            EndQuorumEpochRequest(state.epoch, state.me.node_id, tuple(others)),
        )
    state.follow(None, now_ms)
    # It gives precedence to all successors that it has named.
    assert isinstance(state.role, Follower)
    state.role.deadline_ms += 2 * state.config.election_timeout_ms
