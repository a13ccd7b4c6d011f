"""Rules broken that only faults show which few runs have; here every run has them."""

from typing import Any
from unittest.mock import patch

from barnabas.broker.quorum import election_state, state_machine
from barnabas.broker.quorum.checkpoint import encode_checkpoint
from barnabas.metadata.records import MetadataRecord
from barnabas.sim import run
from barnabas.sim.faults import rare_faults
from barnabas.wire.messages.metadata_records import ProducerIdsRecord
from tests.sim.variant import Variant


def _variant(fault: str, *patches: Any, emphasis: str | None = None) -> Variant:
    return Variant([*patches, patch.dict(rare_faults.SHARES, {fault: 1.0})], emphasis)


def _without_producer_ids(records: list[MetadataRecord], *arguments: Any) -> bytes:
    kept = [each for each in records if not isinstance(each, ProducerIdsRecord)]
    return encode_checkpoint(kept, *arguments)


VARIANTS: dict[str, Variant] = {
    "believe a vote with a flipped bit": _variant(
        "damage_vote", patch.object(election_state, "_is_whole", lambda _: True), emphasis="kills"
    ),
    "leave producer ids out of snapshots": Variant(
        [
            patch.object(state_machine, "encode_checkpoint", _without_producer_ids),
            patch.object(run, "_METADATA_SNAPSHOTS", 1.0),
        ],
        "kills",
    ),
}
