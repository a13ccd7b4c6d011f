"""What members of a share group were given, and what became of it.

A record that was accepted or rejected, and whose acknowledgement was answered, is never delivered
again. While one leader serves a partition and the connection of a member to it stands, nobody else
gets what the member holds, until its lock may have ended. Delivery counts grow with each delivery
by the same leader, and never fall below what an answered release has stored.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.sim.checks.history import Place, Violation

DELIVERY_LIMIT = 10


@dataclass(slots=True)
class Holding:
    """A record that a member was given and has not acknowledged."""

    member: str
    host: str
    count: int
    leader_epoch: int
    """The newest epoch of the partition when it was asked for."""
    until_us: int
    """The lock holds at least so long."""
    is_connected: Callable[[], bool]


@dataclass(slots=True)
class _Fate:
    """Of one record."""

    done_us: int | None = None
    """When an answer said that it is done with."""
    may_be_done: bool = False
    """An acknowledgement was sent and not answered."""
    released: int = 0
    """The count of the last release that was answered."""
    released_us: int = 0
    deliveries: int = 0
    holders: list[Holding] = field(default_factory=list)


class Deliveries:
    """Of all partitions, to one share group."""

    def __init__(self, newest_epoch: Callable[[Place], int]) -> None:
        self._newest_epoch = newest_epoch
        self._fates: dict[tuple[Place, int], _Fate] = {}
        self.lost_answers: dict[Place, int] = {}
        """Fetches without an answer, each of which may have delivered something."""
        self.accepted = 0

    def newest_epoch(self, place: Place) -> int:
        return self._newest_epoch(place)

    def _fate(self, place: Place, offset: int) -> _Fate:
        return self._fates.setdefault((place, offset), _Fate())

    def delivered(
        self, place: Place, offset: int, holding: Holding, sent_us: int, now_us: int
    ) -> None:
        fate = self._fate(place, offset)
        what = f"{place}@{offset} was delivered to {holding.member} (delivery {holding.count})"
        if fate.done_us is not None and sent_us > fate.done_us:
            raise Violation(f"{what}, but it was done with at {fate.done_us} us")
        if sent_us > fate.released_us and holding.count <= fate.released:
            raise Violation(f"{what}, but a release of delivery {fate.released} was answered")
        is_same_leader = holding.leader_epoch == self._newest_epoch(place)
        for other in fate.holders:
            if (
                is_same_leader
                and other.member != holding.member
                and other.host == holding.host
                and other.count <= holding.count  # otherwise this answer is a late one
                and other.leader_epoch == holding.leader_epoch
                and other.until_us > now_us
                and other.is_connected()
            ):
                raise Violation(f"{what}, while {other.member} holds it")
        if holding.count > DELIVERY_LIMIT:
            raise Violation(f"{what}, the limit is {DELIVERY_LIMIT}")
        fate.deliveries += 1
        fate.holders.append(holding)

    def let_go(self, place: Place, offset: int, holding: Holding) -> None:
        """The member has sent an acknowledgement, or has given up its session."""
        fate = self._fate(place, offset)
        if holding in fate.holders:
            fate.holders.remove(holding)

    def ending(self, place: Place, offset: int) -> None:
        """An acknowledgement that would end it is sent."""
        self._fate(place, offset).may_be_done = True

    def ended(self, place: Place, offset: int, now_us: int) -> None:
        """It is answered."""
        fate = self._fate(place, offset)
        if fate.done_us is None:
            fate.done_us = now_us
            self.accepted += 1

    def released(self, place: Place, offset: int, count: int, now_us: int) -> None:
        fate = self._fate(place, offset)
        if count > fate.released:
            fate.released, fate.released_us = count, now_us

    def is_accounted_for(self, place: Place, offset: int) -> bool:
        """It was done with, may have been, or may have been delivered as often as it can be."""
        fate = self._fate(place, offset)
        deliveries = fate.deliveries + self.lost_answers.get(place, 0)
        return fate.done_us is not None or fate.may_be_done or deliveries >= DELIVERY_LIMIT
