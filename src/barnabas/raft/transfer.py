"""Handing leadership over: to a named voter, or to the best one when this replica shuts down.

The target needs the whole log to win, so nothing is appended until it has that. If it takes too
long, the leader goes on. The target skips the pre-vote, as its voters still hear a leader.
"""

from barnabas.raft.election import begin_election
from barnabas.raft.leadership import resign
from barnabas.raft.messages import EndQuorumEpochRequest, EndQuorumEpochResponse
from barnabas.raft.roles import Follower, Leader, Transfer
from barnabas.raft.state import RaftState
from barnabas.wire.errors import ErrorCode


def transfer_leadership(state: RaftState, target_id: int, now_ms: int) -> ErrorCode:
    role = state.role
    if not isinstance(role, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    target = state.log.voters.key_of(target_id)
    if target is None:
        return ErrorCode.VOTER_NOT_FOUND
    if target != state.me:
        role.transfer = Transfer(target, now_ms + state.config.fetch_timeout_ms)
    return ErrorCode.NONE


def hand_over_if_caught_up(state: RaftState, role: Leader, now_ms: int) -> None:
    transfer = role.transfer
    if transfer is None:
        return
    progress = role.progress.get(transfer.target)
    if progress is None or transfer.target not in state.log.voters or now_ms > transfer.deadline_ms:
        role.transfer = None
    elif progress.acknowledged == state.log.end_offset:
        resign(state, role, now_ms, transfer.target)


def receive_end_quorum_epoch(
    state: RaftState,
    sender: int,
    correlation_id: int,
    request: EndQuorumEpochRequest,
    now_ms: int,
) -> None:
    error = ErrorCode.NONE
    if request.epoch < state.epoch:
        error = ErrorCode.FENCED_LEADER_EPOCH
    else:
        state.observe(request.epoch, None, now_ms)
        role = state.role
        if isinstance(role, Follower) and role.leader_id in (None, request.leader_id):
            if state.may_stand and request.preferred_candidates[:1] == (state.me,):
                begin_election(state, now_ms)
            else:
                state.follow(None, now_ms)
    state.answer(
        sender, correlation_id, EndQuorumEpochResponse(error, state.epoch, state.leader_id)
    )
