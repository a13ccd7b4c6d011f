"""Nodes for attacks, which say how long a turn of their event loops has taken."""

import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from tests.hostile.measured_node import Turns
from tests.support.sasl import SaslBroker, SaslCluster

LONGEST_TURN_S = 0.05
_ATTEMPTS = 10
"""A busy machine's caches make the same work cost up to three times the CPU time, so what takes
longer is asked again: the work itself takes what the shortest attempt took."""


def longest_turn(turns: Collection[Turns], attack: Callable[[], object]) -> tuple[float, str]:
    """The longest turn of all nodes in an attack, and what took so long in it; of several attacks
    the shortest."""
    took: list[tuple[float, str]] = []
    while not took or (took[-1][0] >= LONGEST_TURN_S and len(took) < _ATTEMPTS):
        for each in turns:
            each.reset()
        attack()
        took.append(max((each.longest_s, each.callback) for each in turns))
    return min(took)


class MeasuredNode(SaslBroker):
    """A node that measures the turns of its event loop."""

    real = True

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, {"group.initial.rebalance.delay.ms": "0"})
        self._turns_path = directory / "turns"
        self.turns = Turns(self._turns_path)

    def command(self) -> list[str]:
        _, _, _, *settings = super().command()
        return [
            *(sys.executable, "-m", "tests.hostile.measured_node", str(self._turns_path)),
            *settings,
        ]


class MeasuredCluster(SaslCluster):
    """Nodes that measure the turns of their event loops."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        super().__init__(directory, 3, settings)
        self.turns: dict[int, Turns] = {}
        for node_id, node in self.nodes.items():
            path = directory / f"turns-{node_id}"
            self.turns[node_id] = Turns(path)
            node.module = ["tests.hostile.measured_node", str(path)]
            node.real = True
