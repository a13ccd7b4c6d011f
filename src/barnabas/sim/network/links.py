"""The links between hosts: one-way, with a delay each, some of them cut."""

from collections.abc import Iterable
from random import Random

from barnabas.sim.process.simulator import Simulator

Link = tuple[str, str]
"""From a host to a host."""


class Links:
    """Which bytes pass between which hosts, and how long they take."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.random: Random = simulator.source("network")
        self.delays_us: tuple[int, int] = (100, 1_000)
        self.slow: dict[Link, tuple[int, int]] = {}
        """Delays of links that are slower than the others."""
        self.give_up_us = 8_000_000
        """How long a kernel tries to get bytes through."""
        self.split = 0.02
        """How often a write arrives in two pieces."""
        self.without_power: set[str] = set()
        """Hosts that neither send nor receive."""
        self._cuts: list[frozenset[Link]] = []
        self._cut: frozenset[Link] = frozenset()

    def cut(self, links: Iterable[Link]) -> frozenset[Link]:
        cut = frozenset(links)
        self._cuts.append(cut)
        self._cut |= cut
        return cut

    def heal(self, cut: frozenset[Link] | None) -> None:
        """Undo one cut; None: all of them."""
        if cut is None:
            self._cuts.clear()
        elif cut in self._cuts:
            self._cuts.remove(cut)
        self._cut = frozenset[Link]().union(*self._cuts)

    def passes(self, source: str, target: str) -> bool:
        return (
            (source, target) not in self._cut
            and source not in self.without_power
            and target not in self.without_power
        )

    def delay_us(self, source: str, target: str) -> int:
        least, most = self.slow.get((source, target), self.delays_us)
        # Most bytes are fast, some are not: with a flat distribution nothing would ever be late.
        return least + int((most - least) * self.random.random() ** 3)
