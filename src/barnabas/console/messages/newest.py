"""The newest records of several partitions, in order of time.

Each partition is read backwards in windows, as far as it has to be: a partition is asked again only
when all that it gave was taken. Empty partitions are not asked.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.console.messages.backwards import Backwards
from barnabas.console.messages.positions import LogBounds
from barnabas.console.messages.ranges import Found, RangeReader, size_of
from barnabas.console.user_cluster import UserCluster

MAX_BYTES = 16 * 1024 * 1024
"""Of the records of a page, and of those that are read ahead for it."""
_FIRST_WINDOW = 16
_AT_ONCE = 8


class Newest(NamedTuple):
    """Records, and where older ones end in each partition that has some."""

    records: list[Found]
    older: dict[TopicPartition, int]


class _Partition:
    """Records of one partition that are read, and not taken yet."""

    def __init__(self, backwards: Backwards) -> None:
        self._backwards = backwards
        self._read: list[Found] = []

    async def fill(self) -> None:
        """Have a record ready, if there is one left."""
        while not self._read and not self._backwards.is_done:
            self._read = await self._backwards.step()

    @property
    def head(self) -> Found | None:
        return self._read[-1] if self._read else None

    def take(self) -> Found:
        return self._read.pop()

    @property
    def older(self) -> int | None:
        """Where what is left ends; None at the beginning."""
        if self._read:
            return self._read[-1].message.offset + 1
        return None if self._backwards.is_done else self._backwards.before


async def newest(
    cluster: UserCluster,
    bounds: Mapping[TopicPartition, LogBounds],
    before: Mapping[TopicPartition, int] | None,
    limit: int,
) -> Newest:
    """The last records before these offsets, or before the ends; the newest first.

    Fewer than `limit` if they are large: then the next page has the others.
    """
    partitions = {}
    for name, (beginning, end, stable) in bounds.items():
        last = end if before is None else min(before.get(name, beginning), end)
        if last > beginning:
            reader = RangeReader(cluster.client, cluster.records, name, stable)
            budget = MAX_BYTES // len(bounds)
            partitions[name] = _Partition(
                Backwards(reader, beginning, last, window=_FIRST_WINDOW, budget=budget)
            )
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def fill(partition: _Partition) -> None:
        async with at_once:
            await partition.fill()

    await asyncio.gather(*map(fill, partitions.values()))
    records: list[Found] = []
    size = 0
    while len(records) < limit and size < MAX_BYTES:
        ready = [each for each in partitions.values() if each.head is not None]
        if not ready:
            break
        newest_one = max(ready, key=_order)
        records.append(newest_one.take())
        size += size_of(records[-1:])
        await newest_one.fill()
    older = {name: each.older for name, each in partitions.items()}
    return Newest(records, {name: at for name, at in older.items() if at is not None})


def _order(each: _Partition) -> tuple[int, int, int]:
    assert each.head is not None
    message = each.head.message
    return message.timestamp_ms, message.offset, -message.partition
