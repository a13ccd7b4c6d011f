"""What a replica knows of the quorum, for `DescribeQuorum` and for people."""

from typing import NamedTuple

from barnabas.raft.roles import Leader
from barnabas.raft.state import RaftState
from barnabas.raft.voters import ReplicaKey


class ReplicaStatus(NamedTuple):
    key: ReplicaKey
    log_end_offset: int
    """As far as it has acknowledged in this epoch; -1 before its first fetch."""
    last_fetch_ms: int
    """On the leader's clock; -1 for the leader itself."""


class QuorumStatus(NamedTuple):
    """Replicas are listed by the leader only; others do not know."""

    epoch: int
    leader_id: int | None
    high_watermark: int
    voters: list[ReplicaStatus]
    observers: list[ReplicaStatus]


def quorum_status(state: RaftState) -> QuorumStatus:
    replicas: list[ReplicaStatus] = []
    if isinstance(state.role, Leader):
        replicas = [
            ReplicaStatus(key, progress.acknowledged, progress.last_fetch_ms)
            for key, progress in state.role.progress.items()
        ]
        replicas.append(ReplicaStatus(state.me, state.log.end_offset, -1))
        replicas.sort()
    voters = state.log.voters
    return QuorumStatus(
        state.epoch,
        state.leader_id,
        state.high_watermark,
        [replica for replica in replicas if replica.key in voters],
        [replica for replica in replicas if replica.key not in voters],
    )
