"""Consumer groups and committed offsets: the classic group protocol as a pure state machine."""

from barnabas.groups.config import GroupConfig
from barnabas.groups.partitioning import partition_of_group
from barnabas.groups.records import CorruptGroupRecord
from barnabas.groups.shard import GroupShard

__all__ = [
    "CorruptGroupRecord",
    "GroupConfig",
    "GroupShard",
    "partition_of_group",
]
