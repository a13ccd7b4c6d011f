"""Changing who votes, one replica at a time.

The new set counts as soon as it is in the log. Any majority of the old set and any of the new one
have a member in common, as they differ in one voter, so no two leaders can be elected; that holds
from one set to the next only. Hence a change waits until the one before it is committed, and a new
leader first commits an entry of its own epoch: before that it cannot know of a change that an
earlier leader of another set has made.

A replica becomes a voter when it has caught up as an observer, so that the set stays able to
commit. A leader may remove itself: it leads, without counting itself, until that is committed.
"""

from barnabas.raft.leadership import resign
from barnabas.raft.ready import Proposal
from barnabas.raft.replication import has_committed_in_own_epoch
from barnabas.raft.roles import Leader
from barnabas.raft.state import RaftState
from barnabas.raft.voters import ReplicaKey, Voter, VoterSet
from barnabas.wire.errors import ErrorCode


def add_voter(state: RaftState, voter: Voter, now_ms: int) -> Proposal:
    role = state.role
    if not isinstance(role, Leader):
        return Proposal(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if state.log.voters.key_of(voter.key.node_id) is not None:
        return Proposal(ErrorCode.DUPLICATE_VOTER)
    if not has_caught_up(state, role, voter.key, now_ms):
        return Proposal(ErrorCode.REQUEST_TIMED_OUT)
    return _change(state, role, state.log.voters.with_voter(voter))


def remove_voter(state: RaftState, key: ReplicaKey) -> Proposal:
    role = state.role
    if not isinstance(role, Leader):
        return Proposal(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if key not in state.log.voters:
        return Proposal(ErrorCode.VOTER_NOT_FOUND)
    if len(state.log.voters.voters) == 1:
        return Proposal(ErrorCode.INVALID_REQUEST)
    return _change(state, role, state.log.voters.without_voter(key))


def _change(state: RaftState, role: Leader, voters: VoterSet) -> Proposal:
    """Kafka's answer to who has to wait and ask again is that the time is up."""
    if is_change_pending(state) or not may_change(state, role) or role.transfer is not None:
        return Proposal(ErrorCode.REQUEST_TIMED_OUT)
    entry = state.append(voters)
    return Proposal(ErrorCode.NONE, entry.base_offset, entry.epoch)


def is_change_pending(state: RaftState) -> bool:
    return state.log.voters_offset >= state.high_watermark


def may_change(state: RaftState, role: Leader) -> bool:
    return has_committed_in_own_epoch(state, role)


def has_caught_up(state: RaftState, role: Leader, key: ReplicaKey, now_ms: int) -> bool:
    """Whether an observer fetches, and has all that is committed."""
    progress = role.progress.get(key)
    return (
        progress is not None
        and now_ms - progress.last_fetch_ms <= state.config.fetch_timeout_ms
        and progress.acknowledged >= state.high_watermark
    )


def leave_if_removed(state: RaftState, role: Leader, now_ms: int) -> None:
    if not state.is_voter and state.log.voters_offset < state.high_watermark:
        resign(state, role, now_ms)
