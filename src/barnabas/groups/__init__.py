"""Groups and committed offsets, as pure state machines.

shard.py            all groups of one partition: requests, replay, deadlines
group_registry.py   the groups of a shard, with their deadlines and memory
image.py            persistent: what the log says about each group, by replay
  records.py
group.py            what groups of all kinds have in common
  group_type.py, config.py, memory.py, names.py
listing.py          ListGroups

classic/      groups whose members make the assignments
consumer/     groups whose coordinator makes the assignments
migration/    groups that change between these two protocols
modern/       what consumer groups and share groups have in common
regex/        regular expressions for names of topics
assignors/    the assignors of consumer groups
offsets/      committed offsets of groups of any kind
"""

from barnabas.groups.config import GroupConfig
from barnabas.groups.offsets.committed_offsets import NO_PRODUCER_ID
from barnabas.groups.shard import GroupShard

__all__ = [
    "NO_PRODUCER_ID",
    "GroupConfig",
    "GroupShard",
]
