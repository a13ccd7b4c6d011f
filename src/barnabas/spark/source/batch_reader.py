"""`spark.read`: the records between two positions."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.consumer.range_reader import RecordRange
from barnabas.spark.cluster.connection import connect
from barnabas.spark.source import log_offsets
from barnabas.spark.source.data_loss import report_loss
from barnabas.spark.source.filters import PushedFilters
from barnabas.spark.source.options import BatchOptions
from barnabas.spark.source.positions import Offsets
from barnabas.spark.source.range_reader import read_ranges
from barnabas.spark.source.record_decoding import RecordDecoding, form_of
from barnabas.spark.source.subscription import partitions_of
from barnabas.spark.source.tasks import RangesPartition, plan_tasks


class BatchReader(DataSourceReader):
    """Plans a read in one process of Spark, and reads in others."""

    def __init__(
        self,
        options: BatchOptions,
        schema: StructType,
        parallelism: int | None,
        decoding: RecordDecoding | None = None,
    ) -> None:
        self._options = options
        self._source = options.source
        self._schema = schema
        self._decoding = decoding
        self._parallelism = parallelism
        self._filters = PushedFilters()

    def partitions(self) -> list[InputPartition]:
        ranges = connect(self._source.consumer.connection).ask(self._ranges)
        tasks = plan_tasks(
            ranges,
            parallelism=self._parallelism,
            min_tasks=self._source.min_partitions,
            max_task_records=self._source.max_records_per_partition,
        )
        oldest = self._filters.min_timestamp_ms
        # Without partitions, Spark would start a task with None for its partition.
        return [RangesPartition(each, oldest) for each in tasks] or [RangesPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangesPartition)
        return read_ranges(self._source, form_of(self._schema, self._decoding), partition)

    async def _ranges(self, cluster: ClusterClient) -> list[RecordRange]:
        source = self._source
        isolation = source.consumer.isolation
        partitions = await partitions_of(cluster, source.subscription)
        starts = await log_offsets.resolve(
            cluster,
            source.starting,
            partitions,
            isolation,
            may_lie_ahead=source.starting_time_may_lie_ahead,
        )
        ends = await log_offsets.resolve(
            cluster,
            self._options.ending,
            partitions,
            isolation,
            may_lie_ahead=True,
        )
        if source.starting.each or self._options.ending.each:
            await self._check(cluster, starts, ends)
        wanted = [each for each in partitions if self._filters.includes(each)]
        oldest = self._filters.min_timestamp_ms
        if oldest is not None:
            since = await log_offsets.first_since(cluster, wanted, oldest, isolation)
            starts.update((each, max(starts[each], offset)) for each, offset in since.items())
            wanted = [each for each in wanted if each in since]
        first, end = self._filters.min_offset, self._filters.end_offset
        return [
            RecordRange(
                each,
                max(starts[each], first),
                ends[each] if end is None else min(ends[each], end),
                partitions[each],
            )
            for each in wanted
        ]

    async def _check(self, cluster: ClusterClient, starts: Offsets, ends: Offsets) -> None:
        """Check the user's offsets against those in the logs."""
        first = await log_offsets.earliest(cluster, starts)
        last = await log_offsets.latest(cluster, starts, self._source.consumer.isolation)
        for each in starts:
            if starts[each] > last[each]:
                report_loss(
                    f"partition {each} should be read from offset {starts[each]}, but ends at "
                    f"{last[each]}",
                    fail=self._source.fail_on_data_loss,
                )
                starts[each] = ends[each] = last[each]
            elif starts[each] < first[each] or ends[each] > last[each]:
                report_loss(
                    f"partition {each} should be read from offset {starts[each]} to {ends[each]}, "
                    f"but has {first[each]} to {last[each]}",
                    fail=self._source.fail_on_data_loss,
                )
                starts[each] = max(starts[each], first[each])
                ends[each] = min(ends[each], last[each])


class FilteringBatchReader(BatchReader):
    """A reader with filter pushdown, which reads less if it supports a filter."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's
        return self._filters.push(filters)
