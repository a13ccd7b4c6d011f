"""Rules broken that only faults show which few runs have; here every run has them."""

from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

from barnabas.broker.quorum import election_state, state_machine
from barnabas.broker.quorum.checkpoint import encode_checkpoint
from barnabas.log.flush_job import FlushJob
from barnabas.log.flusher import LogFlusher
from barnabas.metadata.records import MetadataRecord
from barnabas.sim import run
from barnabas.sim.faults import rare_faults
from barnabas.sim.profile import FLUSHED, Profile, draw_profile
from barnabas.wire.messages.metadata_records import ProducerIdsRecord
from tests.sim.variant import Variant


def _variant(fault: str, *patches: Any, emphasis: str | None = None) -> Variant:
    return Variant([*patches, patch.dict(rare_faults.SHARES, {fault: 1.0})], emphasis)


def _synced_anyway(self: LogFlusher, job: FlushJob) -> None:
    """A sync that failed is not looked at: the next one succeeds, after all."""
    job.error = None
    original_complete(self, job)


original_complete = LogFlusher.complete


def _failed_syncs(random: Random, emphasis: str | None) -> Profile:
    """Syncs often fail, and soon after all machines lose power."""
    return replace(
        draw_profile(random, emphasis),
        nodes=3,
        voters=3,
        replication_factor=3,
        partitions=1,
        faulty_ms=10_000,
        fault_every_ms=400,
        faults={"blackout": 3, "kill_leader": 1},
        restarts_ms=(1, 50),
        settings=FLUSHED,
        rare_shares={"failed_sync": 1.0},
    )


def _without_producer_ids(records: list[MetadataRecord], *arguments: Any) -> bytes:
    kept = [each for each in records if not isinstance(each, ProducerIdsRecord)]
    return encode_checkpoint(kept, *arguments)


VARIANTS: dict[str, Variant] = {
    "pass over a failed sync": Variant(
        [
            patch.object(LogFlusher, "complete", _synced_anyway),
            patch.object(rare_faults, "_MOST", 16),
            patch.object(run, "draw_profile", _failed_syncs),
        ],
        "errors",
    ),
    "trust at a restart what a failed sync has left in the page cache": Variant(
        [patch.object(LogFlusher, "write_again", lambda *_: None)], "errors"
    ),
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
