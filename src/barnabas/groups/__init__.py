"""Consumer groups and committed offsets: the classic group protocol as a pure state machine."""

from barnabas.groups.config import GroupConfig
from barnabas.groups.decision import Decision, Record, Reply
from barnabas.groups.partitioning import partition_of_group
from barnabas.groups.records import CorruptGroupRecord
from barnabas.groups.shard import GroupShard

__all__ = [
    "CorruptGroupRecord",
    "Decision",
    "GroupConfig",
    "GroupShard",
    "Record",
    "Reply",
    "partition_of_group",
]
