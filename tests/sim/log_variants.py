"""Rules of logs broken, one at a time: what is cut off, compacted, and kept."""

from collections.abc import Iterable
from struct import pack_into
from typing import Any
from unittest.mock import patch

from barnabas.broker.follower import replica_fetcher
from barnabas.broker.follower.follower_log import append_fetched
from barnabas.broker.follower.replica_session import Followed
from barnabas.broker.replica import replica_truncation
from barnabas.broker.replica.partition import Partition
from barnabas.log.compaction.key_map import KeyMap
from barnabas.metadata.image import INTERNAL_TOPICS
from barnabas.records.decode import iter_batches
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

VARIANTS: dict[str, Variant] = {
    "store records of coordinators with the epoch of the leader that sent them": Variant(
        [patch.object(replica_fetcher, "append_fetched", _stamped)], "kills"
    ),
    "begin to follow from the high watermark": Variant(
        [patch.object(Followed, "__init__", _cut_to_the_high_watermark)], "elections"
    ),
    "compact the newest value of a key away": Variant(
        [patch.object(KeyMap, "unreplaced", _only_older)], "transactions"
    ),
}
