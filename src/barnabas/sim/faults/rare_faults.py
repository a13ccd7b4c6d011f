"""Faults that few runs have, with random numbers of their own.

A fault that is drawn like the others shifts what every run draws from then on. Each of these is a
matter of its own source, so that runs without it stay as they are.
"""

from collections.abc import Callable
from functools import partial
from random import Random

from barnabas.sim.faults.context import FaultContext

RareFault = Callable[[Random], None]

SHARES = {
    "damage_vote": 0.06,
    "damage_broker_state": 0.06,
    "io_errors": 0.06,
    "failed_sync": 0.06,
}
"""The share of runs that have each of them."""
_MOST = 3


class RareFaults:
    """Happen at times that are drawn at the beginning."""

    def __init__(self, context: FaultContext, by_name: dict[str, RareFault]) -> None:
        self._context = context
        self._by_name = by_name

    def begin(self) -> None:
        faulty_us = self._context.profile.faulty_ms * 1000
        for name, fault in self._by_name.items():
            random = self._context.simulator.source(name)
            share = self._context.profile.rare_shares.get(name, SHARES[name])
            if random.random() < share:
                for _ in range(random.randint(1, _MOST)):
                    at_us = random.randint(0, faulty_us)
                    self._context.simulator.after(at_us, partial(self._fault, name, fault, random))

    def _fault(self, name: str, fault: RareFault, random: Random) -> None:
        if self._context.is_on and self._context.admits(name):
            fault(random)
