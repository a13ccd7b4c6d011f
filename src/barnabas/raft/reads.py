"""Reads that see everything committed before they were asked for (Raft's ReadIndex).

A leader may have been replaced without knowing. So it notes its high watermark, asks every voter
whether it is still the leader, and answers the read when a majority has said so, to a question
that was asked after the read, and the state machine has applied all up to the noted point. Before
it has committed an entry of its own epoch it does not know how far the log is committed: the read
waits. Reads that come while a round of questions is under way share the next one.
"""

from barnabas.raft.leadership import begin_epoch
from barnabas.raft.messages import BeginQuorumEpochResponse
from barnabas.raft.ready import ReadOutcome
from barnabas.raft.replication import has_committed_in_own_epoch
from barnabas.raft.roles import Leader, ReadRound
from barnabas.raft.state import RaftState
from barnabas.wire.errors import ErrorCode


def read(state: RaftState, token: object) -> None:
    if isinstance(state.role, Leader):
        state.role.waiting_reads.append(token)
    else:
        state.read_outcomes.append(ReadOutcome(token, ErrorCode.NOT_LEADER_OR_FOLLOWER))


def begin_round(state: RaftState, role: Leader) -> None:
    if not role.waiting_reads or role.round is not None or not may_read(state, role):
        return
    tokens, role.waiting_reads = role.waiting_reads, []
    role.round = ReadRound(
        first_correlation_id=state.next_correlation_id,
        read_offset=state.high_watermark,
        voters=state.log.voters,
        tokens=tokens,
        confirmed={state.me},
    )
    ask_again(state, role)
    end_round(role)


def may_read(state: RaftState, role: Leader) -> bool:
    return has_committed_in_own_epoch(state, role)


def ask_again(state: RaftState, role: Leader) -> None:
    if role.round is not None:
        for voter in role.round.voters.others(state.me):
            if voter not in role.round.confirmed:
                begin_epoch(state, voter)


def receive_begin_quorum_epoch_response(
    state: RaftState,
    sender: int,
    correlation_id: int,
    response: BeginQuorumEpochResponse,
    now_ms: int,
) -> None:
    state.observe(response.epoch, response.leader_id, now_ms)
    role = state.role
    if not isinstance(role, Leader) or role.round is None:
        return
    voter = role.round.voters.key_of(sender)
    if (
        voter is not None
        and response.error_code is ErrorCode.NONE
        and response.epoch == state.epoch
        and correlation_id >= role.round.first_correlation_id
    ):
        role.round.confirmed.add(voter)
        end_round(role)


def end_round(role: Leader) -> None:
    if role.round is not None and is_confirmed(role.round):
        role.confirmed_reads += ((token, role.round.read_offset) for token in role.round.tokens)
        role.round = None


def is_confirmed(round_: ReadRound) -> bool:
    return round_.voters.has_majority(round_.confirmed)


def take_answerable(state: RaftState) -> list[ReadOutcome]:
    """Reads whose point has been applied, and reads that failed."""
    outcomes, state.read_outcomes = state.read_outcomes, []
    role = state.role
    if isinstance(role, Leader) and role.confirmed_reads:
        unapplied = []
        for token, offset in role.confirmed_reads:
            if offset <= state.applied_offset:
                outcomes.append(ReadOutcome(token, ErrorCode.NONE))
            else:
                unapplied.append((token, offset))
        role.confirmed_reads = unapplied
    return outcomes
