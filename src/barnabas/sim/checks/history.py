"""What the clients of a simulated cluster know, held together at every step.

A record that was acknowledged, or read by a client, stands at its offset for ever. Nothing else
ever stands there, nothing stands anywhere that was never sent, and what an idempotent producer
has sent stands in one place only. Ends of partitions and committed offsets never go back.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple


class Violation(AssertionError):  # noqa: N818 - of a promise
    """The cluster has broken a promise."""


class Place(NamedTuple):
    """A partition."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Sent(NamedTuple):
    """What a value says of itself: `producer:number`, with `!` if the producer is idempotent."""

    producer: str
    number: int
    is_idempotent: bool

    @classmethod
    def of(cls, value: bytes) -> "Sent":
        producer, _, number = value.decode().rpartition(":")
        return cls(producer, int(number), "!" in producer)


class History:
    """Records what every client sends, and every answer."""

    def __init__(self) -> None:
        self._sent: dict[bytes, Place] = {}
        self.standing: defaultdict[Place, dict[int, bytes]] = defaultdict(dict)
        """Value by offset, of everything that was ever acknowledged or read."""
        self.acknowledged: defaultdict[Place, dict[int, bytes]] = defaultdict(dict)
        self._once: dict[bytes, int] = {}
        self._ends: dict[tuple[Place, int], int] = {}
        """By isolation level: of the partition, and of what is committed in it."""
        self.commits: dict[tuple[str, Place], int] = {}
        """The offset that was last acknowledged to a committing client."""
        self.rotten: set[Place] = set()
        """Where a bit has flipped on some disk: readers may get a batch with a wrong checksum."""
        self.renumbered: set[str] = set()
        """Groups whose generations may begin at 1 again: an empty group of one protocol is replaced
        when a member of the other one joins."""
        self.are_groups_deleted = False
        """Whether any group may begin at 1 again: an empty one without offsets is soon deleted."""
        self._generations: dict[tuple[str, int, Place], str] = {}
        self.reads = 0
        self.on_acknowledge: Callable[[Place, int], None] = lambda _place, _offset: None

    # -- records -----------------------------------------------------------------------------------

    def sending(self, place: Place, value: bytes) -> None:
        assert value not in self._sent
        self._sent[value] = place

    def acknowledge(self, place: Place, offset: int, value: bytes) -> None:
        self._stands(place, offset, value, "acknowledged")
        self.acknowledged[place][offset] = value
        self.on_acknowledge(place, offset)

    def read(self, place: Place, offset: int, value: bytes) -> None:
        self.reads += 1
        self._stands(place, offset, value, "read")

    def _stands(self, place: Place, offset: int, value: bytes, how: str) -> None:
        known = self.standing[place].setdefault(offset, value)
        if known != value:
            raise Violation(
                f"{place}@{offset}: {value!r} was {how}, but {known!r} was there before"
            )
        if self._sent.get(value) != place:
            raise Violation(f"{place}@{offset}: {value!r} was {how}, but was never sent there")
        if Sent.of(value).is_idempotent and self._once.setdefault(value, offset) != offset:
            raise Violation(
                f"{place}: {value!r} of an idempotent producer stands at {self._once[value]} "
                f"and at {offset}"
            )

    def check_order(self, place: Place, *, is_compacted: bool = False) -> None:
        """What a producer sent one after the other first stands in that order.

        Except for what a plain producer has given up: that may have come late. Compaction may have
        removed where a record of a plain producer stood first, and left its repetition.
        """
        newest: dict[str, int] = {}
        seen: set[bytes] = set()
        acknowledged = set(self.acknowledged[place].values())
        for _, value in sorted(self.standing[place].items()):
            sent = Sent.of(value)
            if value in seen or not (sent.is_idempotent or value in acknowledged):
                continue
            if is_compacted and not sent.is_idempotent:
                continue
            seen.add(value)
            if sent.number < newest.get(sent.producer, -1):
                raise Violation(
                    f"{place}: {value!r} stands behind number {newest[sent.producer]} of its "
                    "producer"
                )
            newest[sent.producer] = sent.number

    # -- ends --------------------------------------------------------------------------------------

    def known_end(self, place: Place, isolation_level: int = 0) -> int:
        """The least that a client may be told from now on if it asks for the partition's end."""
        return self._ends.get((place, isolation_level), 0)

    def end(self, place: Place, offset: int, least: int, isolation_level: int = 0) -> None:
        """A client was told the end; `least` is what `known_end` said when it asked."""
        if offset < least:
            raise Violation(f"{place} ended at {least} before, and at {offset} now")
        self._ends[place, isolation_level] = max(offset, self.known_end(place, isolation_level))

    # -- groups ------------------------------------------------------------------------------------

    def commit(self, group: str, place: Place, offset: int) -> None:
        """A commit was acknowledged."""
        key = (group, place)
        self.commits[key] = max(offset, self.commits.get(key, -1))

    def is_all_committed(self, group: str, place: Place) -> bool:
        """Whether the group has committed every acknowledged record of this partition.

        Where nothing was written there is nothing to commit, also if a client has asked.
        """
        records = self.acknowledged[place]
        return not records or self.commits.get((group, place), -1) > max(records)

    def committed(self, group: str, place: Place, offset: int, least: int) -> None:
        """A client read a committed offset; `least` was acknowledged when it asked."""
        if offset < least:
            raise Violation(f"{group} had committed {least} of {place}, and now it has {offset}")

    def assigned(self, group: str, generation: int, member: str, places: list[Place]) -> None:
        """A member learned what is its own in a generation."""
        if group in self.renumbered or self.are_groups_deleted:
            return
        for place in places:
            owner = self._generations.setdefault((group, generation, place), member)
            if owner != member:
                raise Violation(
                    f"{place} belongs to {owner} and to {member} in generation {generation} of "
                    f"{group}"
                )
