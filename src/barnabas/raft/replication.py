"""The leader's side of replication: fetches are acknowledgements, and what they wait for.

The answer to a fetch that diverges from the leader's log is where to truncate or which snapshot
to get. One that agrees acknowledges everything before it. It is answered when there are entries, or
a high watermark its sender does not know, or when its time is up.

The high watermark is what a majority of voters has durably, the leader's own log included. It
moves only to entries of the leader's own epoch: an entry of an earlier one may be on a majority
and still be overwritten, as a candidate with a later epoch could win without it.
"""

from barnabas.raft.messages import FetchRequest, FetchResponse
from barnabas.raft.roles import Leader, ParkedFetch, Progress
from barnabas.raft.state import RaftState
from barnabas.wire.errors import ErrorCode


def receive_fetch(
    state: RaftState, sender: int, correlation_id: int, request: FetchRequest, now_ms: int
) -> None:
    role = state.role
    error = check_leader(state, request.epoch)
    if not isinstance(role, Leader) or error is not ErrorCode.NONE:
        # A replica that asks around for the leader is far behind or ahead: both get an answer.
        state.observe(request.epoch, None, now_ms)
        state.answer(sender, correlation_id, FetchResponse(error, state.epoch, state.leader_id))
        return
    progress = role.progress.setdefault(request.replica, Progress(now_ms))
    progress.last_fetch_ms = now_ms
    if progress.parked is not None:
        _answer(state, progress.parked, sender)
        progress.parked = None
    if is_same_log(state, request):
        progress.acknowledged = max(progress.acknowledged, request.fetch_offset)
        wait_ms = min(request.max_wait_ms, state.config.fetch_max_wait_ms)
        progress.parked = ParkedFetch(correlation_id, request, now_ms + wait_ms)
    else:
        state.answer(sender, correlation_id, _diverging(state, request))


def check_leader(state: RaftState, epoch: int) -> ErrorCode:
    if epoch < state.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > state.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(state.role, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE


def is_same_log(state: RaftState, request: FetchRequest) -> bool:
    return state.log.has(request.fetch_offset, request.last_fetched_epoch)


def _diverging(state: RaftState, request: FetchRequest) -> FetchResponse:
    log = state.log
    point = log.end_of_epoch(request.last_fetched_epoch)
    if request.fetch_offset < log.start_offset or point is None:
        assert log.snapshot is not None
        return FetchResponse(
            ErrorCode.NONE,
            state.epoch,
            state.me.node_id,
            state.high_watermark,
            snapshot_id=log.snapshot.snapshot_id,
        )
    return FetchResponse(
        ErrorCode.NONE,
        state.epoch,
        state.me.node_id,
        state.high_watermark,
        diverging_epoch=point,
    )


def answer_parked(state: RaftState, role: Leader, now_ms: int) -> None:
    for key, progress in role.progress.items():
        parked = progress.parked
        if parked is not None and (
            parked.request.fetch_offset < state.log.end_offset
            or parked.request.high_watermark < state.high_watermark
            or parked.expires_ms <= now_ms
        ):
            progress.parked = None
            _answer(state, parked, key.node_id)


def _answer(state: RaftState, parked: ParkedFetch, receiver: int) -> None:
    request = parked.request
    if request.fetch_offset < state.log.start_offset:
        answer = _diverging(state, request)  # a snapshot was taken meanwhile
    else:
        answer = FetchResponse(
            ErrorCode.NONE,
            state.epoch,
            state.me.node_id,
            state.high_watermark,
            entries=state.log.read(request.fetch_offset, request.max_bytes),
        )
    state.answer(receiver, parked.correlation_id, answer)


def advance_high_watermark(state: RaftState, role: Leader) -> None:
    reached = {key: progress.acknowledged for key, progress in role.progress.items()}
    reached[state.me] = own_acknowledgement(state)
    offset = state.log.voters.majority_reached(reached)
    if offset > state.high_watermark and is_of_own_epoch(role, offset):
        state.high_watermark = offset


def own_acknowledgement(state: RaftState) -> int:
    return state.writes.durable_end_offset


def applicable_end_offset(state: RaftState) -> int:
    """The end of what may be applied here: it is committed, and durable on this disk too.

    A leader does not wait for its own disk, once that has stored that it leads. The others apply an
    entry as soon as a majority of them has it. A leader whose disk is slow or full, and that waits
    for it, would believe in what they have already replaced: that it leads a partition, for one.
    """
    durable_end_offset = state.writes.durable_end_offset
    if isinstance(state.role, Leader) and is_of_own_epoch(state.role, durable_end_offset):
        return state.high_watermark
    return min(state.high_watermark, durable_end_offset)


def is_of_own_epoch(role: Leader, end_offset: int) -> bool:
    """Whether what ends there is an entry of this leader's."""
    return end_offset > role.epoch_start_offset


def has_committed_in_own_epoch(state: RaftState, role: Leader) -> bool:
    """Until then a leader knows neither how far the log is committed nor who else changed it."""
    return is_of_own_epoch(role, state.high_watermark)
