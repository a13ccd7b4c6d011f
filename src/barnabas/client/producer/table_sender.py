"""Sending a table: its rows become batches without being Python's objects in between.

    table -> blocks of one topic -> a partition for each row -> batches, packed -> the accumulator

Everything up to the packed batch happens in the application's thread, most of it with others
running; the producer's loop gets batches only. A row goes where the same record would go if it was
sent alone: to its partition, else where its key belongs, else to the partition that records without
a key go to now, which changes with every batch. Rows of one partition keep their order.

Formats do not apply, nor does `batch_records`.
"""

from collections.abc import Iterator
from time import time_ns
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.record_row import check_request_size
from barnabas.client.producer.table_columns import blocks_of, table_of, topics_of
from barnabas.client.producer.topic_routes import TopicRoute
from barnabas.errors import InvalidArgument
from barnabas.records.columns import schema
from barnabas.records.columns.encoder import ColumnEncoder
from barnabas.records.columns.partitioning import partitions_for_keys, rows_by_partition
from barnabas.records.columns.row_columns import BYTES
from barnabas.records.packed import PackedRecords

_NS_PER_MS = 1_000_000


class PackedRows(NamedTuple):
    """Some rows of a table, and where they go."""

    partition: TopicPartition
    records: PackedRecords


class TableSender:
    """One table on its way. The coroutines run in the producer's loop, all else elsewhere.

    Making it raises for what can be seen at a glance; `batches` for what is wrong with a single
    row, when those before it may be on their way.
    """

    def __init__(self, producer: RecordProducer, data: object, topic: str | None) -> None:
        self._producer = producer
        self._table = table_of(data, topic)
        self._topics = topics_of(self._table, topic)
        self._routes: dict[str, TopicRoute] = {}
        self.rows: int = self._table.num_rows

    @property
    def is_prepared(self) -> bool:
        """Whether all is known about the topics."""
        known = self._producer.routes
        self._routes = {topic: known[topic] for topic in self._topics if topic in known}
        return len(self._routes) == len(self._topics)

    async def prepare(self) -> None:
        """Find out about the topics."""
        for topic in self._topics:
            self._routes[topic] = await self._producer.route(topic)

    def batches(self) -> Iterator[PackedRows]:
        """All rows."""
        for topic, block in blocks_of(self._table, self._topics):
            yield from self._pack(self._routes[topic], block)

    def try_queue(self, batch: PackedRows) -> bool:
        """Hand one over, if there is room for it."""
        return self._producer.try_send_packed(batch.partition, batch.records)

    async def queue(self, batch: PackedRows) -> None:
        """Hand one over as soon as there is room for it."""
        await self._producer.send_packed(batch.partition, batch.records)

    def _pack(self, route: TopicRoute, block: pa.RecordBatch) -> Iterator[PackedRows]:
        encoder = ColumnEncoder(block, timestamp_ms=time_ns() // _NS_PER_MS)
        earliest_ms = encoder.min_timestamp_ms
        if earliest_ms is not None and earliest_ms < 0:
            raise InvalidArgument("column timestamp: a time before 1970")
        partitions = self._partitions(route, block)
        for number, rows in _groups(partitions):
            packed = encoder.pack(
                rows, max_bytes=self._producer.batch_bytes, compression=self._producer.compression
            )
            for records in packed:
                if records.record_count == 1:
                    check_request_size(records.size, self._producer.max_request_bytes)
                where = self._next_keyless(route) if number is None else number
                yield PackedRows(TopicPartition(route.topic.name, where), records)

    def _partitions(self, route: TopicRoute, block: pa.RecordBatch) -> pa.Int32Array | None:
        """Where each row goes; None if all go where those without a key do."""
        partitions = _column(block, schema.PARTITION)
        if partitions is not None:
            lowest, highest = (each.as_py() for each in pc.min_max(partitions).values())
            if lowest is not None:
                _check_partition(route, lowest)
                _check_partition(route, highest)
            partitions = partitions.cast(pa.int32())
            if not partitions.null_count:
                return partitions
        if self._producer.partitioner is not None:
            chosen: pa.Int32Array | None = self._by_partitioner(route, block)
        elif (keys := _column(block, schema.KEY)) is not None:
            chosen = partitions_for_keys(keys, len(route.adds))
        else:
            chosen = None
        if partitions is None:
            partitions = chosen
        elif chosen is not None:
            partitions = pc.coalesce(partitions, chosen)
        if partitions is None or partitions.null_count == len(partitions):
            return None
        return self._fill_keyless(route, block, partitions)

    def _fill_keyless(
        self, route: TopicRoute, block: pa.RecordBatch, partitions: pa.Int32Array
    ) -> pa.Int32Array:
        """Give rows without a key a partition among the others: runs of about a batch to each."""
        if not partitions.null_count:
            return partitions
        missing = np.flatnonzero(partitions.is_null().to_numpy(zero_copy_only=False))
        filled = partitions.fill_null(0).to_numpy().copy()
        size = block.nbytes * len(missing) // len(partitions)
        for rows in np.array_split(missing, 1 + size // self._producer.batch_bytes):
            filled[rows] = self._next_keyless(route)
        return pa.array(filled)

    def _next_keyless(self, route: TopicRoute) -> int:
        """Where a batch without keys goes; the next one goes elsewhere."""
        partition = self._producer.routes.keyless_partition(route)
        self._producer.routes.closed(partition)
        return partition.partition

    def _by_partitioner(self, route: TopicRoute, block: pa.RecordBatch) -> pa.Int32Array:
        """What the application's own function says, which wants Python's objects."""
        partitioner = self._producer.partitioner
        assert partitioner is not None
        topic, count = route.topic.name, len(route.adds)
        nothing = [None] * block.num_rows
        keys, values = (
            nothing if column is None else column.cast(BYTES).to_pylist()
            for column in (_column(block, schema.KEY), _column(block, schema.VALUE))
        )
        partitions = [
            route.partition(partitioner(topic, key, value, count)).partition
            for key, value in zip(keys, values, strict=True)
        ]
        return pa.array(partitions, pa.int32())


def _groups(
    partitions: pa.Int32Array | None,
) -> Iterator[tuple[int | None, pa.UInt64Array | None]]:
    """The rows of each partition, where None stands for all rows, and for no partition."""
    if partitions is None:
        yield None, None
        return
    lowest, highest = pc.min_max(partitions).values()
    if lowest == highest:
        yield lowest.as_py(), None
    else:
        yield from rows_by_partition(partitions).items()


def _check_partition(route: TopicRoute, partition: int) -> None:
    try:
        route.partition(partition)
    except InvalidArgument as error:
        raise InvalidArgument(f"column {schema.PARTITION}: {error}") from None


def _column(block: pa.RecordBatch, name: str) -> pa.Array | None:
    if name not in block.schema.names or block.column(name).type == pa.null():
        return None
    return block.column(name)
