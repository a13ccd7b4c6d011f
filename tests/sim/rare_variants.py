"""Rules broken that only faults show which few runs have; here every run has them."""

from typing import Any
from unittest.mock import patch

from barnabas.broker.quorum import election_state
from barnabas.sim.faults import rare_faults
from tests.sim.variant import Variant


def _variant(fault: str, *patches: Any, emphasis: str | None = None) -> Variant:
    return Variant([*patches, patch.dict(rare_faults.SHARES, {fault: 1.0})], emphasis)


VARIANTS: dict[str, Variant] = {
    "believe a vote with a flipped bit": _variant(
        "damage_vote", patch.object(election_state, "_is_whole", lambda _: True), emphasis="kills"
    ),
}
