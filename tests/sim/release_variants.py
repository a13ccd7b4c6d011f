"""Versions of the product that break the rules of upgrades."""

from typing import Any
from unittest.mock import patch

from barnabas.broker.control.node_features import FeaturesOfNodes
from barnabas.controller.features import update_features
from barnabas.controller.features.node_features import AllFeatures
from barnabas.sim import run
from tests.sim.variant import Variant

original_ask = FeaturesOfNodes.ask


async def _ask_only_new_ones(self: FeaturesOfNodes) -> AllFeatures:
    nodes = await original_ask(self)
    return {node_id: type(node)(self._own, node.broker_epoch) for node_id, node in nodes.items()}


def _variant(*patches: Any) -> Variant:
    return Variant([*patches, patch.object(run, "_MIXED_RELEASES", 1.0)])


VARIANTS = {
    "a level is raised without a look at the other nodes": _variant(
        patch.object(update_features, "_check_nodes", lambda *_: None)
    ),
    "all nodes are taken for as new as the controller": _variant(
        patch.object(FeaturesOfNodes, "ask", _ask_only_new_ones)
    ),
}
