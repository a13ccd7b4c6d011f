"""Finds where the last transaction of a partition is in the target, no matter who wrote it."""

import asyncio

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.range_reader import RangeReader, RecordRange
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.mirror.offsets.recent_runs import RecentRuns, RunsInTarget
from barnabas.mirror.offsets.segment import Segment

_MOST_BYTES = 64 * 1024 * 1024
"""Others may have written the same partition since; after so much, the transaction is gone."""
_ATTEMPTS = 10
_PAUSE_S = 0.1


async def recovered_runs(
    target: ClusterClient, partition: TopicPartition, recent: RecentRuns
) -> list[Segment]:
    """All that is known of offsets, from what was committed with the position."""
    if not recent.pending:
        return list(recent.known)
    for _ in range(_ATTEMPTS):
        wanted = {partition: LATEST}
        committed = await list_offsets(target, wanted, IsolationLevel.READ_COMMITTED)
        written = await list_offsets(target, wanted)
        found = await _written(target, partition, recent, committed[partition].offset)
        is_there = sum(each.records for each in found) >= recent.records
        if is_there or committed[partition].offset >= written[partition].offset:
            break
        await asyncio.sleep(_PAUSE_S)  # its marker may come later than its offsets
    return recent.located(found)


async def _written(
    target: ClusterClient, partition: TopicPartition, recent: RecentRuns, end: int
) -> list[RunsInTarget]:
    reading = RangeReader(
        target,
        [RecordRange(partition, recent.after, end)],
        on_loss=lambda _: None,  # what retention has deleted is not translated
    )
    found: list[RunsInTarget] = []
    size = 0
    while (fetched := await reading.fetch()) and size < _MOST_BYTES:
        for each in fetched:
            size += len(each.data)
            found += [
                RunsInTarget(header.base_offset, header.record_count)
                for header, _ in reading.visible(each)
                if header.producer_id == recent.producer_id
            ]
        if sum(each.records for each in found) >= recent.records:
            break
    return found
