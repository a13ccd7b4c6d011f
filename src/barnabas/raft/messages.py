"""What replicas tell each other, each message the core of the Kafka message of the same name.

Left to the shell: cluster id, topic and partition (`__cluster_metadata`, 0), endpoints, and the
bytes of entries. `epoch` is the sender's, a response's `leader_id` who it believes leads in it;
on the wire they are `LeaderEpoch`, and `CurrentLeader` or `LeaderId` with -1 for None.

A response carries its request's correlation id and reaches only the process that asked: on the
wire that is the connection's doing.
"""

from typing import NamedTuple

from barnabas.raft.entry import Entry, OffsetAndEpoch
from barnabas.raft.voters import ReplicaKey
from barnabas.wire.errors import ErrorCode


class VoteRequest(NamedTuple):
    """Would you (`pre_vote`), or do you, vote for me? A pre-vote has the present epoch, as in
    Kafka's version 2, and does not bind."""

    epoch: int
    candidate: ReplicaKey
    voter: ReplicaKey
    last_epoch: int
    last_offset: int
    """The log's end: Kafka's `LastOffset`, which is exclusive too."""
    pre_vote: bool


class VoteResponse(NamedTuple):
    error_code: ErrorCode
    epoch: int
    leader_id: int | None
    vote_granted: bool


class BeginQuorumEpochRequest(NamedTuple):
    """I lead. It also asks whether the voter still takes me for the leader, for reads."""

    epoch: int
    leader_id: int
    voter: ReplicaKey


class BeginQuorumEpochResponse(NamedTuple):
    error_code: ErrorCode
    epoch: int
    leader_id: int | None


class EndQuorumEpochRequest(NamedTuple):
    """I lead no longer; the first of the candidates should stand for election at once."""

    epoch: int
    leader_id: int
    preferred_candidates: tuple[ReplicaKey, ...]


class EndQuorumEpochResponse(NamedTuple):
    error_code: ErrorCode
    epoch: int
    leader_id: int | None


class FetchRequest(NamedTuple):
    """All before `fetch_offset` is durable here, and the last of it has `last_fetched_epoch`.

    So it is the acknowledgement of what was fetched before, provided that the leader's log has
    that epoch there too.
    """

    epoch: int
    replica: ReplicaKey
    fetch_offset: int
    last_fetched_epoch: int
    high_watermark: int
    max_bytes: int
    max_wait_ms: int


class FetchResponse(NamedTuple):
    """At most one of `diverging_epoch`, `snapshot_id` and `entries` is there."""

    error_code: ErrorCode
    epoch: int
    leader_id: int | None
    high_watermark: int = -1
    diverging_epoch: OffsetAndEpoch | None = None
    snapshot_id: OffsetAndEpoch | None = None
    entries: tuple[Entry, ...] = ()


class FetchSnapshotRequest(NamedTuple):
    epoch: int
    replica: ReplicaKey
    snapshot_id: OffsetAndEpoch
    position: int
    max_bytes: int


class FetchSnapshotResponse(NamedTuple):
    error_code: ErrorCode
    epoch: int
    leader_id: int | None
    snapshot_id: OffsetAndEpoch
    size: int = 0
    position: int = 0
    content: bytes = b""


Request = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
)
Response = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
)
Message = Request | Response


class Envelope(NamedTuple):
    sender: int
    receiver: int
    correlation_id: int
    message: Message
