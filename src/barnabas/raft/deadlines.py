"""What happens when nothing happens: which role waits for what, and until when."""

from barnabas.raft.election import begin_pre_vote
from barnabas.raft.fetching import can_fetch, give_up_fetch
from barnabas.raft.leadership import check_quorum
from barnabas.raft.reads import ask_again
from barnabas.raft.roles import Candidate, Follower, Leader, Prospective
from barnabas.raft.state import RaftState


def pass_time(state: RaftState, now_ms: int) -> None:
    match state.role:
        case Leader() as role:
            if role.check_ms <= now_ms:
                ask_again(state, role)
                check_quorum(state, role, now_ms)
        case Follower() as role:
            if role.deadline_ms > now_ms:
                give_up_fetch(state, role, now_ms)
            elif state.may_stand:
                begin_pre_vote(state, now_ms)
            else:
                state.follow(None, now_ms)
        case Prospective() | Candidate() as role:
            # A candidate that has lost asks first, so that its epoch rises only with a prospect.
            if role.deadline_ms <= now_ms:
                begin_pre_vote(state, now_ms)


def forgive_stall(state: RaftState, stalled_ms: int) -> None:
    """This node stood still for so long, and could not have heard its leader.

    A follower waits that much longer, up to a limit: one that is always slow still notices that
    its leader is gone. A leader gets no extra time: it may have been replaced meanwhile, and its
    node would go on believing that it leads.
    """
    role = state.role
    if not isinstance(role, Follower) or role.leader_id is None:
        return
    forgiven_ms = min(stalled_ms, state.config.max_forgiven_ms - role.forgiven_ms)
    role.forgiven_ms += forgiven_ms
    role.deadline_ms += forgiven_ms
    if role.lease_end_ms is not None:
        role.lease_end_ms += forgiven_ms
    if role.in_flight is not None:
        later_ms = role.in_flight.give_up_ms + forgiven_ms
        role.in_flight = role.in_flight._replace(give_up_ms=later_ms)


def next_deadline_ms(state: RaftState) -> int:
    """When to call `tick`, at the latest."""
    match state.role:
        case Leader() as role:
            parked_ms = (p.parked.expires_ms for p in role.progress.values() if p.parked)
            return min(role.check_ms, min(parked_ms, default=role.check_ms))
        case Follower() as role:
            if role.in_flight is not None:
                return min(role.deadline_ms, role.in_flight.give_up_ms)
            if can_fetch(state, role):
                return min(role.deadline_ms, role.fetch_after_ms)
            return role.deadline_ms
        case Prospective(deadline_ms=deadline_ms) | Candidate(deadline_ms=deadline_ms):
            return deadline_ms
