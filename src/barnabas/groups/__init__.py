"""Consumer groups and committed offsets: the classic group protocol as a pure state machine."""

from barnabas.groups.config import GroupConfig
from barnabas.groups.offsets import NO_PRODUCER_ID
from barnabas.groups.shard import GroupShard

__all__ = [
    "NO_PRODUCER_ID",
    "GroupConfig",
    "GroupShard",
]
