"""Snapshots: taking one so that the log before it can go, and serving it to who needs it.

Only the latest is kept. Who was getting an earlier one begins again.
"""

from barnabas.raft.download import take_piece
from barnabas.raft.entry import OffsetAndEpoch, Snapshot
from barnabas.raft.fetching import take_answer
from barnabas.raft.messages import FetchSnapshotRequest, FetchSnapshotResponse
from barnabas.raft.replication import check_leader
from barnabas.raft.roles import Leader, Progress
from barnabas.raft.state import RaftState
from barnabas.wire.errors import ErrorCode


def take_snapshot(state: RaftState, end_offset: int, content: bytes) -> None:
    """`content` is the state after all entries before `end_offset`; the log before it goes."""
    log = state.log
    if not log.start_offset < end_offset <= state.applied_offset:
        raise ValueError(f"a snapshot at {end_offset} is not of what was applied since the last")
    snapshot_id = OffsetAndEpoch(end_offset, log.epoch_at(end_offset))
    snapshot = Snapshot(snapshot_id, log.voters_at(end_offset), content)
    log.drop_before(snapshot)
    state.writes.snapshot_taken(snapshot)


def receive_fetch_snapshot(
    state: RaftState, sender: int, correlation_id: int, request: FetchSnapshotRequest, now_ms: int
) -> None:
    error = check_leader(state, request.epoch)
    state.observe(request.epoch, None, now_ms)
    if isinstance(state.role, Leader) and error is ErrorCode.NONE:
        state.role.progress.setdefault(request.replica, Progress(now_ms)).last_fetch_ms = now_ms
    state.answer(sender, correlation_id, _piece(state, request, error))


def _piece(
    state: RaftState, request: FetchSnapshotRequest, error: ErrorCode
) -> FetchSnapshotResponse:
    snapshot = state.log.snapshot
    if error is ErrorCode.NONE:
        if snapshot is None or snapshot.snapshot_id != request.snapshot_id:
            error = ErrorCode.SNAPSHOT_NOT_FOUND
        elif not 0 <= request.position <= len(snapshot.content):
            error = ErrorCode.POSITION_OUT_OF_RANGE
    if snapshot is None or error is not ErrorCode.NONE:
        return FetchSnapshotResponse(error, state.epoch, state.leader_id, request.snapshot_id)
    size = min(request.max_bytes, state.config.fetch_snapshot_max_bytes)
    return FetchSnapshotResponse(
        error,
        state.epoch,
        state.leader_id,
        request.snapshot_id,
        len(snapshot.content),
        request.position,
        snapshot.content[request.position : request.position + size],
    )


def receive_fetch_snapshot_response(
    state: RaftState,
    sender: int,
    correlation_id: int,
    response: FetchSnapshotResponse,
    now_ms: int,
) -> None:
    role = take_answer(state, sender, correlation_id, response.epoch, response.leader_id, now_ms)
    if role is not None:
        take_piece(state, role, response, now_ms)
