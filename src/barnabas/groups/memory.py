"""What members say of themselves, and are given, in all groups of a node: how much it may be.

It is kept for as long as the members are, up to half an hour after they were last heard of, and
nobody but the members themselves knows what it is good for. So there is a limit to all of it. A
member that says little, as nearly all do, is let in somewhat beyond: others that say much must not
keep it out.
"""

_SMALL_BYTES = 16 * 1024
_RESERVE = 1.25
PER_MEMBER_BYTES = 1000
"""What a member takes besides what it says, or an id that was given out."""


class GroupMemory:
    """Counts bytes; shared by all shards."""

    __slots__ = ("max_bytes", "used")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used = 0

    def has_room(self, more: int) -> bool:
        """Whether somebody may bring so much more."""
        limit = self.max_bytes * (_RESERVE if more <= _SMALL_BYTES else 1)
        return self.used + more <= limit
