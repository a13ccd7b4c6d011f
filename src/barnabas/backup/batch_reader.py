"""Committed batches of a partition between two offsets, as the cluster has them.

Markers and what belongs to aborted transactions are left out. The CRC of each batch is checked:
what is damaged at the source must not be sealed as sound by a checksum of the backup.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.consumer.completed_fetch import end_of
from barnabas.client.consumer.fetch_request import FetchTuning, fetch
from barnabas.client.offsets.isolation import AbortedTransactions, IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.errors import CorruptRecords, DataLost
from barnabas.records.batch import BatchHeader, compute_crc
from barnabas.records.decode import iter_batches
from barnabas.records.errors import RecordsError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import PartitionData

ISOLATION = IsolationLevel.READ_COMMITTED
_TUNING = FetchTuning(
    max_wait_ms=200, max_bytes=4 * 1024 * 1024, partition_max_bytes=4 * 1024 * 1024
)
_PATIENCE_S = 60.0


class ReadBatches(NamedTuple):
    """What one answer had, and the offset behind it."""

    batches: list[tuple[BatchHeader, memoryview]]
    end: int
    size: int


async def read_batches(
    cluster: ClusterClient,
    channel: Channel,
    partition: TopicPartition,
    topic_id: bytes,
    start: int,
    end: int,
) -> AsyncIterator[ReadBatches]:
    """Read from `start` to `end`. What retention deletes meanwhile is passed over."""
    loop = asyncio.get_running_loop()
    position, moved_at = start, loop.time()
    while position < end:
        data = await _fetch(cluster, channel, partition, topic_id, position)
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await cluster.refresh_leaders([partition.topic])  # a former one may have said so
            first, last = (await beginning_and_end(cluster, [partition]))[partition]
            if last < end:
                raise DataLost(
                    f"partition {partition} ended at {end} and now ends at {last}: its log was cut"
                )
            if first > position:
                position, moved_at = first, loop.time()
                continue
        check(data.error_code, f"partition {partition} at offset {position}")
        records = data.records or b""
        behind = end_of(records) if records else None
        if behind is not None:
            found = ReadBatches(
                _visible(partition, data, position, end), max(behind, position), len(records)
            )
            position, moved_at = found.end, loop.time()
            yield found
        elif records:
            raise CorruptRecords(f"partition {partition}: no whole batch at offset {position}")
        elif data.last_stable_offset >= end or data.last_stable_offset < 0:
            return  # compaction has left nothing up to the end
        elif loop.time() - moved_at > _PATIENCE_S:
            raise DataLost(
                f"partition {partition} ended at {end} and gives nothing from {position} on; "
                f"its committed records end at {data.last_stable_offset}"
            )


async def _fetch(
    cluster: ClusterClient,
    channel: Channel,
    partition: TopicPartition,
    topic_id: bytes,
    position: int,
) -> PartitionData:
    async def attempt() -> PartitionData:
        node_id = await cluster.leader(partition)
        answers = await fetch(
            cluster,
            node_id,
            channel,
            {partition: position},
            _TUNING,
            ISOLATION,
            {partition: topic_id},
        )
        ((_, data),) = answers
        if data.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
            check(data.error_code, f"partition {partition} at offset {position}")
        return data

    return await cluster.retrying(attempt, topics={partition.topic})


def _visible(
    partition: TopicPartition, data: PartitionData, start: int, end: int
) -> list[tuple[BatchHeader, memoryview]]:
    aborted = AbortedTransactions(data.aborted_transactions)
    found = []
    try:
        for header, batch in iter_batches(data.records or b""):
            if header.base_offset >= end:
                break
            if aborted.hide(header, batch) or header.is_control or header.next_offset <= start:
                continue
            if header.record_count == 0:
                continue  # compaction only kept its header
            if compute_crc(batch) != header.crc:
                raise CorruptRecords(
                    f"partition {partition}: the batch at offset {header.base_offset} is damaged; "
                    "`barnabas log repair` on its nodes takes it out of the log"
                )
            found.append((header, batch))
    except RecordsError as error:
        raise CorruptRecords(
            f"partition {partition}: a batch after offset {start} is damaged ({error})"
        ) from error
    return found
