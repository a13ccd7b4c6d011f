"""`spark.readStream`: what comes, in micro-batches.

Spark keeps one of these for as long as a query runs, in a process of its own, and asks it again and
again how far the next micro-batch goes; tasks use copies of it. Offsets have the form of Spark's
own Kafka source, so that a checkpoint made with one can be continued with the other.

Topics and partitions that appear are read from their beginning. Records that are gone before they
were read are reported (failOnDataLoss).
"""

from collections.abc import Awaitable, Callable, Iterator
from time import monotonic
from typing import TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from barnabas.client.cluster import Cluster
from barnabas.client.metadata import TopicPartition
from barnabas.client.range_reading import RecordRange
from barnabas.errors import UnknownTopic
from barnabas.spark import log_offsets
from barnabas.spark.connection import connect
from barnabas.spark.data_loss import report_loss
from barnabas.spark.group_progress import GroupProgress
from barnabas.spark.options import StreamOptions
from barnabas.spark.positions import Offsets, json_of, offsets_of
from barnabas.spark.range_tasks import read_ranges
from barnabas.spark.rate_limit import limited
from barnabas.spark.subscription import partitions_of
from barnabas.spark.tasks import RangesPartition, share_out

_LOOK_AROUND_S = 1.0
"""How often new partitions and topics are looked for."""

T = TypeVar("T")
Json = dict[str, dict[str, int]]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says what is there, and plans and does the reading of a part of it."""

    def __init__(self, options: StreamOptions, schema: StructType, parallelism: int | None) -> None:
        self._options = options
        self._source = options.source
        self._schema = schema
        self._parallelism = parallelism
        self._partitions: set[TopicPartition] = set()
        self._looked_around: float | None = None
        self._first_of_new: Offsets = {}
        self._latest: Offsets | None = None
        self._last_of_trigger: Offsets | None = None
        self._batch_began: float | None = None
        self._progress: GroupProgress | None = None

    # -- how far -------------------------------------------------------------------------------

    def initialOffset(self) -> Json:  # noqa: N802 - Spark's
        return json_of(self._ask(self._initial))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # noqa: N802 - Spark's
        starts = offsets_of("the start of a batch", start)
        self._latest = self._ask(self._ends)
        ends = self._latest if self._last_of_trigger is None else self._last_of_trigger
        if self._options.group_id is not None:
            self._show_progress(self._options.group_id, starts, is_idle=starts == ends)
        self._check(starts, ends)
        starts |= self._ask_firsts(ends.keys() - starts.keys())
        if self._is_too_early(starts, ends):
            return start
        if isinstance(limit, ReadMaxRows):
            ends = limited(starts, ends, limit.max_rows)
        return json_of(ends)

    def reportLatestOffset(self) -> Json | None:  # noqa: N802 - Spark's
        return None if self._latest is None else json_of(self._latest)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        self._last_of_trigger = self._ask(self._ends)

    # -- reading -------------------------------------------------------------------------------

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        starts = offsets_of("the start of a batch", start)
        ends = offsets_of("the end of a batch", end)
        starts |= self._ask_firsts(ends.keys() - starts.keys())
        tasks = share_out(
            [RecordRange(each, starts[each], ends[each]) for each in ends],
            parallelism=self._parallelism,
            min_tasks=self._source.min_partitions,
            max_task_records=self._source.max_records_per_partition,
        )
        return [RangesPartition(each) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangesPartition)
        return read_ranges(self._source, self._schema, partition)

    # -- what is there -------------------------------------------------------------------------

    async def _initial(self, cluster: Cluster) -> Offsets:
        source = self._source
        partitions = await partitions_of(cluster, source.subscription)
        starts = await log_offsets.resolve(
            cluster,
            source.starting,
            partitions,
            source.consumer.isolation,
            may_lie_ahead=source.starting_time_may_lie_ahead,
        )
        if source.starting.each:
            first = await log_offsets.earliest(cluster, partitions)
            last = await log_offsets.latest(cluster, partitions, source.consumer.isolation)
            for each, offset in starts.items():
                if not first[each] <= offset <= last[each]:
                    report_loss(
                        f"partition {each} was to be read from offset {offset} and has "
                        f"{first[each]} to {last[each]}",
                        fail=source.fail_on_data_loss,
                    )
                    starts[each] = first[each]
        return starts

    async def _ends(self, cluster: Cluster) -> Offsets:
        """Where the logs end now, of all partitions that are known by now."""
        now = monotonic()
        if self._looked_around is None or now - self._looked_around > _LOOK_AROUND_S:
            self._partitions = await partitions_of(
                cluster,
                self._source.subscription,
                missing_ok=not self._source.fail_on_data_loss,
            )
            self._looked_around = now
        try:
            return await log_offsets.latest(
                cluster, self._partitions, self._source.consumer.isolation
            )
        except UnknownTopic:
            if self._looked_around == now:
                raise
        self._looked_around = None  # a topic has gone since
        return await self._ends(cluster)

    def _check(self, starts: Offsets, ends: Offsets) -> None:
        """Tell of logs that have gone, or end before what was read of them."""
        fail = self._source.fail_on_data_loss
        gone = starts.keys() - ends.keys()
        if gone and self._last_of_trigger is None:
            report_loss(f"{', '.join(map(str, sorted(gone)))} is gone: was it deleted?", fail=fail)
        for each in starts.keys() & ends.keys():
            if ends[each] < starts[each]:
                report_loss(
                    f"partition {each} was read up to offset {starts[each]} and now ends at "
                    f"{ends[each]}: was its topic made anew?",
                    fail=fail,
                )

    def _ask_firsts(self, partitions: set[TopicPartition]) -> Offsets:
        """Where partitions begin that are new, asked once: what is read next is decided by it."""
        unknown = partitions - self._first_of_new.keys()
        if unknown:
            found = self._ask(lambda cluster: log_offsets.earliest(cluster, unknown))
            for each, offset in sorted(found.items()):
                if offset:
                    report_loss(
                        f"partition {each} is new here, and its first {offset} offsets are gone",
                        fail=self._source.fail_on_data_loss,
                    )
            self._first_of_new |= found
        return {each: self._first_of_new[each] for each in partitions}

    def _is_too_early(self, starts: Offsets, ends: Offsets) -> bool:
        """Whether too little has come, and more is waited for (`minOffsetsPerTrigger`)."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._last_of_trigger is not None:
            return False
        now = monotonic()
        waited_ms = None if self._batch_began is None else (now - self._batch_began) * 1000
        count = sum(max(ends[each] - starts[each], 0) for each in ends)
        if (
            count < least
            and waited_ms is not None
            and waited_ms < self._options.max_trigger_delay_ms
        ):
            return True
        self._batch_began = now
        return False

    def _show_progress(self, group_id: str, starts: Offsets, *, is_idle: bool) -> None:
        """Spark begins where it has ended before: up to there, everything is processed."""
        if self._progress is None:
            self._progress = GroupProgress(connect(self._source.consumer.connection), group_id)
        self._progress.reached(dict(starts))
        if is_idle:  # perhaps there is no next time
            self._progress.wait()

    def _ask(self, question: Callable[[Cluster], Awaitable[T]]) -> T:
        return connect(self._source.consumer.connection).ask(question)
