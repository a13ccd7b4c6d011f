"""Who is in sync, what is committed, and where two logs part: decisions without I/O."""

from barnabas.replication.divergence import (
    EpochEnd,
    OutOfRange,
    divergence,
    follower_high_watermark,
    truncation_offset,
)
from barnabas.replication.epoch_history import EpochHistory
from barnabas.replication.leader import IsrChange, IsrMember, LeaderState
from barnabas.replication.progress import FollowerProgress

__all__ = [
    "EpochEnd",
    "EpochHistory",
    "FollowerProgress",
    "IsrChange",
    "IsrMember",
    "LeaderState",
    "OutOfRange",
    "divergence",
    "follower_high_watermark",
    "truncation_offset",
]
