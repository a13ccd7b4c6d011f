"""What an assignor gets and gives. Assignors are pure: equal input gives equal output."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from barnabas.groups.modern.assignment import Partitions


class MemberSpec(NamedTuple):
    """One member, for an assignor."""

    subscribed: frozenset[bytes]
    """Ids of the topics that it is subscribed to; all of them exist."""
    target: Partitions
    """Its former target assignment; topics and partitions may be gone since."""
    instance_id: str | None = None
    rack_id: str | None = None


class GroupSpec(NamedTuple):
    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[bytes, int]
    """Of all topics that a member is subscribed to."""


class Assignor(Protocol):
    @property
    def name(self) -> str: ...

    def assign(self, group: GroupSpec) -> dict[str, Partitions]:
        """The target assignment of every member.

        Only partitions of topics that the member is subscribed to.
        """
