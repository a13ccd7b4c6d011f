"""Rules about what expires broken, one at a time; here every run has what expires within it."""

from typing import Any
from unittest.mock import patch

from barnabas.broker.node import Node
from barnabas.controller.sessions.broker_clocks import BrokerClocks
from barnabas.sim import run
from tests.sim.variant import Variant


def _variant(*patches: Any, emphasis: str | None = None) -> Variant:
    return Variant([*patches, patch.object(run, "_EXPIRY", 1.0)], emphasis)


VARIANTS: dict[str, Variant] = {
    "expire committed offsets by the coordinator's clock alone": _variant(
        patch.object(Node, "clock_lead_ms", 0), emphasis="kills"
    ),
    "take the controller's clock for right": _variant(
        patch.object(BrokerClocks, "slowest_ms", lambda *arguments: arguments[-1]),
        emphasis="kills",
    ),
}
