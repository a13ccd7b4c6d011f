"""Nodes for attacks, which say how long a turn of their event loop has taken."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tests.hostile.measured_node import Turns
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.sasl import SaslBroker

PROMISED_TURN_S = 0.05
"""What docs/security.md promises; `python -m benchmarks turns` measures it."""

LONGEST_TURN_S = 4 * PROMISED_TURN_S
"""What a test demands on any machine. A slow or busy one takes twice the CPU time for the same
work, while a request without a limit takes seconds."""


class Measured(Protocol):
    """What a measurement asks of a node."""

    host: str
    port: int
    turns: Turns

    @property
    def pid(self) -> int: ...


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


class MeasuredMember(NodeProcess):
    """The same for a node of a cluster."""

    real = True

    def __init__(
        self,
        node_id: int,
        address: tuple[str, int],
        directory: Path,
        settings: Mapping[str, str],
        prefix: Sequence[str] = (),
    ) -> None:
        super().__init__(node_id, address, directory, settings, prefix)
        self._turns_path = directory / f"turns-{node_id}"
        self.turns = Turns(self._turns_path)

    def command(self) -> list[str]:
        _, _, _, *settings = super().command()
        return [
            *(sys.executable, "-m", "tests.hostile.measured_node", str(self._turns_path)),
            *settings,
        ]


class MeasuredCluster(ClusterProcesses):
    node_type = MeasuredMember
