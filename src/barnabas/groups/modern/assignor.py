"""What an assignor gets and gives. Assignors are pure: equal input gives equal output."""

from collections.abc import Callable, Mapping
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


def no_racks(_topic_id: bytes, _index: int) -> frozenset[str]:
    """Of partitions whose brokers have none, or where no member has any."""
    return frozenset()


class GroupSpec(NamedTuple):
    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[bytes, int]
    """Of all topics that a member is subscribed to."""
    racks_of: Callable[[bytes, int], frozenset[str]] = no_racks
    """Where the replicas of a partition are."""


class Assignor(Protocol):
    @property
    def name(self) -> str: ...

    def assign(self, group: GroupSpec) -> dict[str, Partitions]:
        """The target assignment of every member.

        Only partitions of topics that the member is subscribed to.
        """
