"""Where logs begin and end, and where transactions are still open."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST, list_offsets
from barnabas.errors import InvalidArgument


class LogBounds(NamedTuple):
    """`stable` is where the oldest transaction that goes on begins, or the end."""

    beginning: int
    end: int
    stable: int


async def bounds_of(
    client: ClusterClient, topic: str, partition: int | None = None
) -> dict[TopicPartition, LogBounds]:
    """Those of all partitions with a leader, or of one."""
    metadata = (await client.topics([topic]))[topic]
    if partition is not None and not 0 <= partition < len(metadata.partitions):
        last = len(metadata.partitions) - 1
        raise InvalidArgument(f"there is no partition {partition}; {topic} has 0 to {last}")
    names = [
        TopicPartition(topic, each.partition)
        for each in metadata.partitions
        if each.leader != NO_LEADER and partition in (None, each.partition)
    ]
    committed = IsolationLevel.READ_COMMITTED
    first, last_offsets, stable = await asyncio.gather(
        list_offsets(client, dict.fromkeys(names, EARLIEST)),
        list_offsets(client, dict.fromkeys(names, LATEST)),
        list_offsets(client, dict.fromkeys(names, LATEST), committed),
    )
    return {
        each: LogBounds(first[each].offset, last_offsets[each].offset, stable[each].offset)
        for each in names
    }


def parse_cursor(topic: str, text: str) -> dict[TopicPartition, int]:
    """`0:12,3:400`: an offset for each partition. Raises `InvalidArgument`."""
    found = {}
    for each in text.split(",") if text else ():
        partition, _, offset = each.partition(":")
        if not (partition.isdecimal() and offset.isdecimal() and len(offset) < 20):
            raise InvalidArgument(f"cursor {each[:40]!r}: expected PARTITION:OFFSET,…")
        found[TopicPartition(topic, int(partition))] = int(offset)
    return found


def cursor_of(offsets: Mapping[TopicPartition, int]) -> str:
    return ",".join(f"{each.partition}:{offset}" for each, offset in sorted(offsets.items()))
