"""A node for attacks, which says how long a turn of its event loop has taken."""

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.hostile.measured_node import Turns
from tests.support.sasl import SaslBroker

LONGEST_TURN_S = 0.05


class MeasuredNode(SaslBroker):
    """A node that measures the turns of its event loop."""

    real = True

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, {"group.initial.rebalance.delay.ms": "0", **(settings or {})})
        self._turns_path = directory / "turns"
        self.turns = Turns(self._turns_path)

    def command(self) -> list[str]:
        _, _, _, *settings = super().command()
        return [
            *(sys.executable, "-m", "tests.hostile.measured_node", str(self._turns_path)),
            *settings,
        ]
