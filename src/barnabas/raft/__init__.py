"""Consensus on the metadata log: Raft as a pure state machine, with Kafka's own messages."""

from barnabas.raft.config import RaftConfig
from barnabas.raft.entry import Batch, Entry, LeaderChange, OffsetAndEpoch, Snapshot
from barnabas.raft.epochs import MAX_EPOCH
from barnabas.raft.log import BrokenInvariant
from barnabas.raft.messages import Envelope
from barnabas.raft.raft import Raft
from barnabas.raft.ready import (
    ElectionState,
    Proposal,
    ReadOutcome,
    Ready,
    Recovered,
    Truncate,
    Write,
)
from barnabas.raft.status import QuorumStatus, ReplicaStatus
from barnabas.raft.voters import ReplicaKey, Voter, VoterSet

__all__ = [
    "MAX_EPOCH",
    "Batch",
    "BrokenInvariant",
    "ElectionState",
    "Entry",
    "Envelope",
    "LeaderChange",
    "OffsetAndEpoch",
    "Proposal",
    "QuorumStatus",
    "Raft",
    "RaftConfig",
    "ReadOutcome",
    "Ready",
    "Recovered",
    "ReplicaKey",
    "ReplicaStatus",
    "Snapshot",
    "Truncate",
    "Voter",
    "VoterSet",
    "Write",
]
