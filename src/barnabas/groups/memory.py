"""A limit for the groups of a node: their number, their members' metadata and assignments, offsets.

What members bring is opaque to the coordinator and stays in memory as long as the members do, up to
half an hour after their last heartbeat; offsets stay for days. So their total size is limited. A
request that adds little, which is nearly every one, may exceed the limit somewhat: others that add
much must not keep it out.
"""

_SMALL_BYTES = 16 * 1024
_RESERVE = 1.25
PER_GROUP_BYTES = 2000
"""What a group takes besides its members and its offsets."""
PER_OFFSET_BYTES = 300
"""What a committed offset takes besides its metadata."""
PER_MEMBER_BYTES = 1000
"""Overhead of a member besides its metadata, and of a member id that was given out."""
PER_TOPIC_BYTES = 120
"""What the name of a topic takes in a member's subscription, besides its characters."""
PER_ASSIGNED_BYTES = 150
"""What a partition takes in the assignment of a member of a newer protocol."""
PER_SHARE_STATE_BYTES = 700
"""What a partition of a share group takes here and at its share coordinator."""


class GroupMemory:
    """Counts bytes for all shards of a node."""

    __slots__ = ("max_bytes", "used")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used = 0

    def has_room_for(self, more: int) -> bool:
        """As `has_room`; what takes no more than before always has room."""
        return more <= 0 or self.has_room(more)

    def has_room(self, more: int) -> bool:
        """Whether `more` bytes may be added."""
        limit = self.max_bytes * (_RESERVE if more <= _SMALL_BYTES else 1)
        return self.used + more <= limit
