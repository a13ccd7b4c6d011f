"""The follower's side of replication: fetch, append, and fetch again once that is durable.

One fetch is under way at a time, and none before the whole log is durable, because a fetch
acknowledges all that it does not ask for. Only an answer to the very fetch that is under way is
taken, so the log has not changed since it was asked for.

Who knows no leader waits to hear of one if it is a voter, else it asks voters and seeds in turn.
"""

import math

from barnabas.raft.download import ask_for_snapshot, begin_download
from barnabas.raft.entry import OffsetAndEpoch
from barnabas.raft.log import BrokenInvariant
from barnabas.raft.messages import FetchRequest, FetchResponse
from barnabas.raft.roles import Follower, InFlight
from barnabas.raft.state import RaftState
from barnabas.wire.errors import ErrorCode


def fetch(state: RaftState, role: Follower, now_ms: int) -> None:
    """Ask for more, if nothing is in the way."""
    if role.in_flight is not None or now_ms < role.fetch_after_ms or not can_fetch(state, role):
        return
    receiver = _any_peer(state) if role.leader_id is None else role.leader_id
    if role.download is not None:
        correlation_id = ask_for_snapshot(state, receiver, role.download)
    else:
        correlation_id = state.ask(
            receiver,
            FetchRequest(
                epoch=state.epoch,
                replica=state.me,
                fetch_offset=state.log.end_offset,
                last_fetched_epoch=state.log.last_epoch,
                high_watermark=state.high_watermark,
                max_bytes=state.config.fetch_max_bytes,
                max_wait_ms=0 if role.is_in_doubt else state.config.fetch_max_wait_ms,
            ),
        )
    role.in_flight = InFlight(correlation_id, receiver, now_ms + state.config.request_timeout_ms)


def can_fetch(state: RaftState, role: Follower) -> bool:
    """Whether there is a replica to ask, and all that the fetch acknowledges is durable."""
    if role.leader_id is None and (state.is_voter or not _who_may_know(state)):
        return False
    return may_acknowledge(state)


def may_acknowledge(state: RaftState) -> bool:
    return state.writes.is_log_durable


def _who_may_know(state: RaftState) -> list[int]:
    known = {*state.seeds, *(key.node_id for key in state.log.voters.keys)}
    return sorted(known - {state.me.node_id})


def _any_peer(state: RaftState) -> int:
    known = _who_may_know(state)
    return known[state.randint(0, len(known) - 1)]


def give_up_fetch(state: RaftState, role: Follower, now_ms: int) -> None:
    if role.in_flight is not None and role.in_flight.give_up_ms <= now_ms:
        role.in_flight = None
        role.is_in_doubt = True
        fetch(state, role, now_ms)


def forget_fetch(state: RaftState, correlation_id: int, now_ms: int) -> None:
    """It will not be answered: ask again soon."""
    role = state.role
    if (
        isinstance(role, Follower)
        and role.in_flight is not None
        and role.in_flight.correlation_id == correlation_id
    ):
        role.in_flight = None
        role.is_in_doubt = True
        role.fetch_after_ms = now_ms + state.config.retry_backoff_ms


def take_answer(
    state: RaftState,
    sender: int,
    correlation_id: int,
    answer_epoch: int,
    answer_leader_id: int | None,
    now_ms: int,
) -> Follower | None:
    """The follower whose fetch this answers, if the leader it follows has sent it."""
    role = state.role
    if (
        not isinstance(role, Follower)
        or role.in_flight is None
        or role.in_flight.correlation_id != correlation_id
    ):
        state.observe(answer_epoch, answer_leader_id, now_ms)
        return None
    role.in_flight = None
    role.is_in_doubt = False
    state.observe(answer_epoch, answer_leader_id, now_ms)
    if state.role is not role:
        return None  # it has told of a leader, or of an epoch
    if answer_leader_id != sender:
        if role.leader_id == sender and answer_epoch == state.epoch:
            state.follow(None, now_ms)  # it has resigned, or restarted
        else:
            role.fetch_after_ms = now_ms + state.config.retry_backoff_ms
        return None
    role.deadline_ms = state.fetch_deadline_ms(now_ms)
    role.forgiven_ms = 0
    role.lease_end_ms = now_ms + state.config.fetch_timeout_ms
    return role


def receive_fetch_response(
    state: RaftState, sender: int, correlation_id: int, response: FetchResponse, now_ms: int
) -> None:
    role = take_answer(state, sender, correlation_id, response.epoch, response.leader_id, now_ms)
    if role is None:
        return
    if response.error_code is not ErrorCode.NONE:
        role.fetch_after_ms = now_ms + state.config.retry_backoff_ms
        return
    if response.snapshot_id is not None:
        begin_download(role, response.snapshot_id)
        return
    if response.diverging_epoch is not None:
        _truncate_to_leaders(state, response.diverging_epoch)
        return
    for entry in response.entries:
        state.log.append(entry)
        state.writes.appended(entry)
    learn_high_watermark(state, response.high_watermark)
    if state.missed_until == math.inf:
        state.missed_until = response.high_watermark


def learn_high_watermark(state: RaftState, leaders: int) -> None:
    """Only as far as this log is known to be the leader's, which is all of it here."""
    state.high_watermark = max(state.high_watermark, min(leaders, state.log.end_offset))


def _truncate_to_leaders(state: RaftState, leaders: OffsetAndEpoch) -> None:
    """Drop what the leader cannot have: what is behind the end of that epoch, here or there.

    If this log has no such epoch, the leader's end of it may fall into an entry of another one
    here. That entry goes too, and the next fetch shows whether more has to.
    """
    mine = state.log.end_of_epoch(leaders.epoch)
    end_offset = state.log.start_offset if mine is None else mine.end_offset
    end_offset = state.log.end_up_to(min(end_offset, leaders.end_offset))
    if end_offset < state.high_watermark:
        raise BrokenInvariant(f"{end_offset} is committed, up to {state.high_watermark}")
    if end_offset < state.log.end_offset:
        state.log.truncate(end_offset)
        state.writes.truncated(end_offset)
