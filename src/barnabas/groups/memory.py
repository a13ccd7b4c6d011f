"""A limit for the metadata and assignments of members, in all groups of a node.

They are opaque to the coordinator and stay in memory as long as the members do, up to half an hour
after their last heartbeat. So their total size is limited. Members with little metadata, which are
nearly all, may exceed the limit somewhat: others with much metadata must not keep them out.
"""

_SMALL_BYTES = 16 * 1024
_RESERVE = 1.25
PER_MEMBER_BYTES = 1000
"""Overhead of a member besides its metadata, and of a member id that was given out."""


class GroupMemory:
    """Counts bytes for all shards of a node."""

    __slots__ = ("max_bytes", "used")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used = 0

    def has_room(self, more: int) -> bool:
        """Whether `more` bytes may be added."""
        limit = self.max_bytes * (_RESERVE if more <= _SMALL_BYTES else 1)
        return self.used + more <= limit
