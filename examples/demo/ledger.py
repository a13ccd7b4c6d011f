"""Who has sent and seen what, and whether that is what was promised."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where a record stands in the topic."""

    partition: int
    offset: int


class PageView(NamedTuple):
    """A record: who looked at what, and the how-manieth click of that user it was."""

    user: str
    page: str
    click: int


class Check(NamedTuple):
    """One promise, whether it was kept, and the figures."""

    promise: str
    kept: bool
    evidence: str


@dataclass(slots=True)
class Reader:
    """A member of a group, and what it has handled, in its own order."""

    name: str
    group: str
    client: str
    """What it is made with."""
    seen: list[tuple[Place, PageView]] = field(default_factory=list)
    position: dict[int, int] = field(default_factory=dict)
    """The offset it reads next, for each partition it has had."""


def parse_line(row: dict[str, Any]) -> tuple[Place, PageView]:
    """A line that a producer or a consumer has printed."""
    value = row["value"]
    return Place(row["partition"], row["offset"]), PageView(
        row["key"], value["page"], value["click"]
    )


class Ledger:
    """Everything that happened."""

    def __init__(self) -> None:
        self.stored: dict[Place, PageView] = {}
        self.readers: dict[str, Reader] = {}

    def sent(self, row: dict[str, Any]) -> None:
        """The broker has acknowledged a record."""
        place, view = parse_line(row)
        self.stored[place] = view

    def handled(self, reader: Reader, row: dict[str, Any]) -> None:
        """A consumer has done its work on a record."""
        place, view = parse_line(row)
        reader.seen.append((place, view))
        reader.position[place.partition] = place.offset + 1

    def members(self, group: str) -> list[Reader]:
        return [reader for reader in self.readers.values() if reader.group == group]

    def count(self, group: str) -> int:
        """How many records the group has handled."""
        return sum(len(reader.seen) for reader in self.members(group))

    def position(self, group: str, partition: int) -> int:
        """How far the group has come in a partition."""
        return max((reader.position.get(partition, 0) for reader in self.members(group)), default=0)

    def has_everything(self, group: str) -> bool:
        return self.count(group) >= len(self.stored)

    # -- the promises --------------------------------------------------------------------------

    def checks(self, queue: str, copy: str, expected: int) -> list[Check]:
        """`queue` is the group whose members share the work, `copy` the one beside it."""
        return [
            Check(
                "every record sent is acknowledged and stored",
                len(self.stored) == expected,
                f"{len(self.stored):,} of {expected:,}",
            ),
            self._once(queue, f"queue: {queue} handled each record once, shared by its members"),
            self._shared(queue),
            self._once(copy, f"publish-subscribe: {copy} got a full copy of its own"),
            self._in_order(),
            self._one_partition_per_user(),
        ]

    def _once(self, group: str, promise: str) -> Check:
        times: Counter[Place] = Counter()
        altered = 0
        for reader in self.members(group):
            for place, view in reader.seen:
                times[place] += 1
                altered += self.stored.get(place) != view
        missing = len(self.stored.keys() - times.keys())
        again = sum(count - 1 for count in times.values())
        return Check(
            promise,
            not (missing or again or altered),
            f"{len(times):,} handled, {missing} missing, {again} twice, {altered} altered",
        )

    def _shared(self, group: str) -> Check:
        shares = [f"{reader.name} {len(reader.seen):,}" for reader in self.members(group)]
        at_work = sum(1 for reader in self.members(group) if reader.seen)
        promise = f"queue: both members of {group} did some of it"
        return Check(promise, at_work > 1, ", ".join(shares))

    def _in_order(self) -> Check:
        """Offsets only grow for each reader, and so do the clicks of each user."""
        compared = wrong = 0
        for reader in self.readers.values():
            offsets: defaultdict[int, int] = defaultdict(lambda: -1)
            clicks: defaultdict[str, int] = defaultdict(lambda: -1)
            for place, view in reader.seen:
                after = offsets[place.partition], clicks[view.user]
                wrong += place.offset <= after[0] or view.click <= after[1]
                compared += 1
                offsets[place.partition] = place.offset
                clicks[view.user] = view.click
        return Check(
            "order: every reader saw each partition, and each user, in order",
            compared > 0 and not wrong,
            f"{compared:,} compared, {wrong} out of order",
        )

    def _one_partition_per_user(self) -> Check:
        homes: defaultdict[str, set[int]] = defaultdict(set)
        for place, view in self.stored.items():
            homes[view.user].add(place.partition)
        scattered = sum(1 for partitions in homes.values() if len(partitions) > 1)
        return Check(
            "keys: all records of one user went to one partition",
            bool(homes) and not scattered,
            f"{len(homes)} users, {scattered} scattered",
        )
