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
        self.sent = 0
        """How many records the producer says it has sent; it does so at its end."""
        self.stored: dict[Place, PageView] = {}
        """What was acknowledged."""
        self.acknowledged_at: defaultdict[int, list[float]] = defaultdict(list)
        """For each partition the times of the acknowledgements, by the producer's clock."""
        self.ends: defaultdict[int, int] = defaultdict(int)
        self.readers: dict[str, Reader] = {}

    def produced(self, row: dict[str, Any]) -> None:
        """A record was acknowledged, or the producer has ended."""
        if "sent" in row:
            self.sent = row["sent"]
            return
        place, view = parse_line(row)
        self.stored[place] = view
        self.acknowledged_at[place.partition].append(row["at"])
        self.ends[place.partition] = max(self.ends[place.partition], place.offset + 1)

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

    def lag(self, group: str, partition: int) -> int:
        """How many acknowledged records the group has not come to."""
        return max(0, self.ends[partition] - self.position(group, partition))

    def has_everything(self, group: str) -> bool:
        return not any(self.lag(group, partition) for partition in list(self.ends))

    # -- the promises --------------------------------------------------------------------------

    def checks(self, queue: str, copy: str, in_topic: int) -> list[Check]:
        """`queue` is the group whose members share the work, `copy` the one beside it; `in_topic`
        is how many records the cluster says there are.
        """
        return [
            self._acknowledged(),
            self._stored_once(copy, in_topic),
            self._complete(queue, f"queue: {queue} handled all of it, shared by its members"),
            self._shared(queue),
            self._complete(copy, f"publish-subscribe: {copy} got a full copy of its own"),
            self._in_order(),
            self._one_partition_per_user(),
        ]

    def _acknowledged(self) -> Check:
        count = sum(map(len, self.acknowledged_at.values()))
        return Check(
            "acks=all: every record that was sent was acknowledged",
            count == self.sent > 0,
            f"{count:,} of {self.sent:,}",
        )

    def _stored_once(self, group: str, in_topic: int) -> Check:
        """By what the group has read: two places for one click are one too many."""
        read = {place: view for reader in self.members(group) for place, view in reader.seen}
        twice = len(read) - len(set(read.values()))
        return Check(
            "idempotence: what was sent again after a kill is stored once",
            in_topic == self.sent and not twice,
            f"{in_topic:,} in the topic, {twice} twice",
        )

    def _complete(self, group: str, promise: str) -> Check:
        """At least once: a record may be handled again when a commit was lost."""
        times: Counter[Place] = Counter()
        altered = 0
        for reader in self.members(group):
            for place, view in reader.seen:
                times[place] += 1
                altered += self.stored.get(place) != view
        lost = len(self.stored.keys() - times.keys())
        again = sum(count - 1 for count in times.values())
        return Check(
            promise,
            not (lost or altered),
            f"{len(times):,} handled, {lost} lost, {altered} altered, {again} handled again"
            + (", as at-least-once allows" if again else ""),
        )

    def _shared(self, group: str) -> Check:
        shares = [f"{reader.name} {len(reader.seen):,}" for reader in self.members(group)]
        at_work = sum(1 for reader in self.members(group) if reader.seen)
        promise = f"queue: both members of {group} did some of it"
        return Check(promise, at_work > 1, ", ".join(shares))

    def _in_order(self) -> Check:
        """What a reader sees for the first time comes in the order of offsets and of clicks."""
        compared = wrong = 0
        for reader in self.readers.values():
            known: set[Place] = set()
            offsets: defaultdict[int, int] = defaultdict(lambda: -1)
            clicks: defaultdict[str, int] = defaultdict(lambda: -1)
            for place, view in reader.seen:
                if place in known:
                    continue
                known.add(place)
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
