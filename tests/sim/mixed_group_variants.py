"""Rules about the migration of groups broken, one at a time; each run has a group that migrates."""

from typing import Any
from unittest.mock import patch

from barnabas.groups.migration import upgrade
from barnabas.sim import run
from tests.sim.variant import Variant


def _variant(*patches: Any, emphasis: str | None = None) -> Variant:
    return Variant([*patches, patch.object(run, "_MIXED_GROUPS", 1.0)], emphasis)


VARIANTS: dict[str, Variant] = {
    "take partitions of classic members for free when a group is upgraded": _variant(
        patch.object(upgrade, "_free", lambda *_: {})
    ),
}
