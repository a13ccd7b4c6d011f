"""Consumer groups and committed offsets: the classic group protocol as a pure state machine.

shard.py            all groups of one partition: requests, replay, deadlines
group_registry.py   the groups of a shard, with their deadlines and memory
image.py            persistent: the last generation and the offsets of each group, by replay
  offsets.py, transactional_offsets.py, records.py
group.py            soft: members, rebalance, parked requests, deadlines
  member.py, state.py, pending_offsets.py, memory.py
join.py sync.py heartbeat.py leave.py rebalance.py               membership
commit.py txn_commit.py fetch.py deletion.py retention.py        offsets
describe.py                                                      administration
"""

from barnabas.groups.config import GroupConfig
from barnabas.groups.offsets import NO_PRODUCER_ID
from barnabas.groups.shard import GroupShard

__all__ = [
    "NO_PRODUCER_ID",
    "GroupConfig",
    "GroupShard",
]
