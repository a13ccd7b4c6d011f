"""Rules of logs broken, one at a time: what is cut off, compacted, and kept."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random
from struct import pack_into
from typing import Any
from unittest.mock import patch

from barnabas.broker.follower import replica_fetcher
from barnabas.broker.follower.follower_log import append_fetched
from barnabas.broker.follower.replica_session import Followed
from barnabas.broker.replica import replica_truncation
from barnabas.broker.replica.high_watermark_checkpoint import HighWatermarkCheckpoint
from barnabas.broker.replica.partition import Partition
from barnabas.log import fetch_validation
from barnabas.log.compaction.key_map import KeyMap
from barnabas.metadata.image import INTERNAL_TOPICS
from barnabas.records.batch import parse_header
from barnabas.records.decode import iter_batches
from barnabas.sim import run
from barnabas.sim.profile import SCRUBBED, Profile, draw_profile
from barnabas.wire.primitives import Buffer
from tests.sim.variant import Variant


def _stamped(partition: Partition, records: Buffer, now_ms: int) -> None:
    data = bytearray(records)
    if partition.topic in INTERNAL_TOPICS:
        position = 0
        for header, _ in iter_batches(bytes(records)):
            pack_into(">i", data, position + _EPOCH_AT, partition.leader_epoch)
            position += header.size
    append_fetched(partition, data, now_ms)


_EPOCH_AT = 12


def _cut_to_the_high_watermark(self: Followed, partition: Partition) -> None:
    replica_truncation.truncate_to(partition, partition.high_watermark, keep=True)
    original_followed(self, partition)


original_followed = Followed.__init__


def _only_older(self: KeyMap, records: Iterable[Any], base_offset: int) -> list[Any]:
    kept = original_unreplaced(self, records, base_offset)
    return kept[:-1]


original_unreplaced = KeyMap.unreplaced


def _as_it_says(batch: Buffer) -> int:
    return parse_header(batch).crc


def _rot_and_losses(random: Random, emphasis: str | None) -> Profile:
    """Replicas that rot for a while, and others that have to fetch everything from them."""
    return replace(
        draw_profile(random, emphasis),
        nodes=3,
        replication_factor=3,
        fault_every_ms=150,
        faults={"rot": 6, "lose_directory": 4, "kill": 1},
        settings=SCRUBBED | {"log.scrub.interval.ms": "3000"},
    )


def _lost_directories(random: Random, emphasis: str | None) -> Profile:
    """Directories go before the checkpoint tells of records in them."""
    return replace(
        draw_profile(random, emphasis),
        nodes=3,
        voters=3,
        replication_factor=3,
        fault_every_ms=250,
        faults={"lose_directory": 4, "kill": 2},
        settings={"replica.high.watermark.checkpoint.interval.ms": "60000"},
    )


VARIANTS: dict[str, Variant] = {
    "trust an empty replica of which no record is written down": Variant(
        [
            patch.object(HighWatermarkCheckpoint, "directory_is_gone", lambda *_: None),
            patch.object(run, "draw_profile", _lost_directories),
        ],
        "damage",
    ),
    "store records of coordinators with the epoch of the leader that sent them": Variant(
        [patch.object(replica_fetcher, "append_fetched", _stamped)], "kills"
    ),
    "begin to follow from the high watermark": Variant(
        [patch.object(Followed, "__init__", _cut_to_the_high_watermark)], "elections"
    ),
    "compact the newest value of a key away": Variant(
        [patch.object(KeyMap, "unreplaced", _only_older)], "transactions"
    ),
    "store rotten records on a replica that has lost its own": Variant(
        [
            patch.object(fetch_validation, "compute_crc", _as_it_says),
            patch.object(run, "draw_profile", _rot_and_losses),
        ],
        "damage",
    ),
}
