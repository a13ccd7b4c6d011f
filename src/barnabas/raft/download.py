"""Getting a leader's snapshot, piece by piece, and starting again from it.

The pieces are kept in memory until the snapshot is whole; a new leader or epoch means to begin
again. It counts, for this replica and for the state machine, when it is durable.
"""

from barnabas.raft.entry import OffsetAndEpoch, Snapshot
from barnabas.raft.messages import FetchSnapshotRequest, FetchSnapshotResponse
from barnabas.raft.roles import Download, Follower
from barnabas.raft.state import RaftState
from barnabas.wire.errors import ErrorCode


def begin_download(role: Follower, snapshot_id: OffsetAndEpoch) -> None:
    role.download = Download(snapshot_id)


def ask_for_snapshot(state: RaftState, receiver: int, download: Download) -> int:
    return state.ask(
        receiver,
        FetchSnapshotRequest(
            epoch=state.epoch,
            replica=state.me,
            snapshot_id=download.snapshot_id,
            position=len(download.content),
            max_bytes=state.config.fetch_snapshot_max_bytes,
        ),
    )


def take_piece(
    state: RaftState, role: Follower, response: FetchSnapshotResponse, now_ms: int
) -> None:
    """The leader that this replica follows has answered."""
    download = role.download
    if (
        download is None
        or response.error_code is not ErrorCode.NONE
        or response.snapshot_id != download.snapshot_id
        or response.position != len(download.content)
    ):
        # The leader may have a later snapshot by now: ask for entries, and be told.
        role.download = None
        role.fetch_after_ms = now_ms + state.config.retry_backoff_ms
        return
    download.content += response.content
    if len(download.content) >= response.size:
        role.download = None
        _install(state, download)


def _install(state: RaftState, download: Download) -> None:
    content = bytes(download.content)
    snapshot = Snapshot(download.snapshot_id, state.voters_in_snapshot(content), content)
    state.writes.snapshot_installed(snapshot, state.log.end_offset)
    state.log.replace(snapshot)
    state.high_watermark = max(state.high_watermark, state.log.start_offset)
