"""Partitions that mirrors write, and their positions, so that a point has what belongs together.

A mirror commits its position in its source with the records that it copies, in one transaction. In
a point, positions are older than the ends of the logs. Records that were copied in between would be
copied again after a restore, so the point ends before them.

It is also ready for positions that can be read before their records, because the marker of the
transaction came late or another transaction in the partition is open: the mirror would pass over
what the point does not have. Such positions are moved back.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

from barnabas.backup.batch_reader import ISOLATION
from barnabas.backup.manifest import GroupData
from barnabas.backup.workers import results_of
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.range_reader import RangeReader, RecordRange, damage_named
from barnabas.client.group.committed_offsets import fetch_offsets_and_metadata
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.coordination.mirror_groups import has_foreign_offsets
from barnabas.mirror.offsets.recent_runs import RecentRuns
from barnabas.mirror.offsets.translation import Translation
from barnabas.mirror.positions import SourcePosition, position_of
from barnabas.records.batch import BatchHeader

_AT_ONCE = 64
_PATIENCE_S = 5.0
_ATTEMPTS = 10
_PAUSE_S = 0.1

Bounds = Mapping[TopicPartition, tuple[int, int]]


class _Copied(NamedTuple):
    """A position in a point, and where the records before it end here; None if not known."""

    group_id: str
    partition: TopicPartition
    offset: int
    recent: RecentRuns
    end: int | None


class MirroredPartitions:
    """Of the groups of a point: `look` before the ends of the logs are read, `limits` after."""

    def __init__(self, cluster: ClusterClient, groups: Mapping[str, GroupData]) -> None:
        self._cluster = cluster
        self._groups = groups
        self._copied: list[_Copied] = []

    async def look(self, partitions: Collection[TopicPartition]) -> None:
        """Find where the records are that the positions are behind. Raises `UnknownTopic`."""
        wanted = set(partitions)
        self._copied = await results_of(
            [
                self._locate(group_id, partition, offset, recent)
                for group_id, group in self._groups.items()
                if has_foreign_offsets(group_id)
                for partition, offset, recent in _positions(group)
                if partition in wanted
            ],
            _AT_ONCE,
        )

    async def _locate(
        self, group_id: str, partition: TopicPartition, offset: int, recent: RecentRuns
    ) -> _Copied:
        end: int | None = recent.after
        if recent.pending:
            end = await self._end_of(partition, recent)
        return _Copied(group_id, partition, offset, recent, end)

    async def _end_of(self, partition: TopicPartition, recent: RecentRuns) -> int | None:
        """Where the transaction of a position ends; None if it is not all there.

        Its records are the first of their producer. The flow may have written more since. The
        marker of a transaction may come later than its position: that is waited for.
        """
        for _ in range(_ATTEMPTS):
            committed = await list_offsets(self._cluster, {partition: LATEST}, ISOLATION)
            records = RecordRange(partition, recent.after, committed[partition].offset)
            left = recent.records
            async for header in self._batches_of({recent.producer_id}, records):
                left -= header.record_count
                if left <= 0:
                    return header.next_offset
            written = await list_offsets(self._cluster, {partition: LATEST})
            if written[partition].offset <= records.end:
                break
            await asyncio.sleep(_PAUSE_S)
        return None

    async def limits(self, bounds: Bounds) -> dict[TopicPartition, int]:
        """Where partitions of the point end that mirrors have written to since `look`."""
        copied = [each for each in self._copied if each.partition in bounds]
        found = await results_of(
            [self._limit(each, bounds[each.partition][1]) for each in copied], _AT_ONCE
        )
        limits: dict[TopicPartition, int] = {}
        for each, limit in zip(copied, found, strict=True):
            if limit is not None:
                limits[each.partition] = min(limit, limits.get(each.partition, limit))
        for each in copied:  # two flows that share a partition: rather records twice than never
            if each.partition in limits and each.end is not None:
                limits[each.partition] = max(each.end, limits[each.partition])
        return limits

    async def _limit(self, copied: _Copied, end: int) -> int | None:
        if copied.end is None or copied.end > end:
            await self._move_back(copied, end)
            return None
        now = await self._position(copied)
        if now is not None and now.offset == copied.offset:
            return None
        producers = {copied.recent.producer_id}
        if now is not None and now.recent is not None:
            producers.add(now.recent.producer_id)
        return await self._first_of(producers, RecordRange(copied.partition, copied.end, end))

    async def _position(self, copied: _Copied) -> SourcePosition | None:
        """Where the flow is by now, after transactions that are about to commit."""
        group_id, partition = copied.group_id, copied.partition
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                found = await fetch_offsets_and_metadata(
                    self._cluster, group_id, [partition], stable=True
                )
                return position_of(*found[partition]) if partition in found else None
        return None

    async def _first_of(self, producers: Collection[int], records: RecordRange) -> int | None:
        """Where the first batch of these producers is."""
        async for header in self._batches_of(producers, records):
            return max(header.base_offset, records.start)
        return None

    async def _batches_of(
        self, producers: Collection[int], records: RecordRange
    ) -> AsyncIterator[BatchHeader]:
        reading = RangeReader(self._cluster, [records], on_loss=lambda _: None)
        while fetched := await reading.fetch():
            for each in fetched:
                with damage_named(each):
                    for header, _ in reading.visible(each):
                        if header.producer_id in producers:
                            yield header

    async def _move_back(self, copied: _Copied, end: int) -> None:
        """The last transaction is not in the point: the position is that before it, or less."""
        recent, partition = copied.recent, copied.partition
        written = await list_offsets(self._cluster, {partition: LATEST})
        if copied.end is None and written[partition].offset <= end:
            return  # nothing is open: it was compacted, or deleted
        before = None
        if end < recent.after:
            before = Translation(recent.known).invert(end)
        elif recent.pending:
            before = recent.pending[0].since
        offsets = self._groups[copied.group_id].offsets[partition.topic]
        if before is None:
            del offsets[partition.partition]
        else:
            offset, text = offsets[partition.partition]
            offsets[partition.partition] = (min(before, offset), text)


def _positions(group: GroupData) -> list[tuple[TopicPartition, int, RecentRuns]]:
    return [
        (TopicPartition(topic, index), offset, recent)
        for topic, offsets in group.offsets.items()
        for index, (offset, text) in offsets.items()
        if (recent := position_of(offset, text).recent) is not None
    ]
