"""Which member of a group owns which partition, at each moment: never two.

A member owns a partition from the moment at which it takes it until it gives it up, or until its
lease ends. The lease is a part of the session timeout, from when the member sent the last heartbeat
that was answered: a coordinator does not fence it before, even if its clock runs fast.
"""

from typing import NamedTuple

from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.process.simulator import Simulator


class _Owner(NamedTuple):
    member: str
    until_us: int


class Ownership:
    """Of the partitions of one group."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._owners: dict[Place, _Owner] = {}

    def take(self, place: Place, member: str, until_us: int) -> None:
        """A member begins to own a partition, or its lease is longer now."""
        owner = self._owners.get(place)
        if owner is not None and owner.member != member and self._is_valid(owner):
            raise Violation(f"{place} belongs to {owner.member} and to {member} at the same time")
        self._owners[place] = _Owner(member, until_us)

    def give_up(self, place: Place, member: str) -> None:
        if self.is_owner(place, member):
            del self._owners[place]

    def is_owner(self, place: Place, member: str) -> bool:
        owner = self._owners.get(place)
        return owner is not None and owner.member == member and self._is_valid(owner)

    def owners(self) -> dict[Place, str]:
        """By partition, of those that have one now."""
        return {
            place: owner.member for place, owner in self._owners.items() if self._is_valid(owner)
        }

    def _is_valid(self, owner: _Owner) -> bool:
        return self._simulator.now_us < owner.until_us
