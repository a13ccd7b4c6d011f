"""`spark.readStream`: new records, in micro-batches.

Spark keeps one of these in a separate process for as long as a query runs, and asks it where each
micro-batch ends; tasks use copies of it.

New topics and partitions are read from their beginning. Records that were deleted before they were
read are reported (failOnDataLoss), and so is a topic that was deleted and created again, which has
another id: with failOnDataLoss=false it is read from its beginning.
"""

from collections.abc import Awaitable, Callable, Iterator
from time import monotonic
from typing import TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.range_reader import RecordRange
from barnabas.errors import UnknownTopic
from barnabas.spark.cluster.connection import connect
from barnabas.spark.source import log_offsets
from barnabas.spark.source.data_loss import report_loss
from barnabas.spark.source.group_progress import GroupProgress
from barnabas.spark.source.idle_wait import IdleWait
from barnabas.spark.source.options import StreamOptions
from barnabas.spark.source.positions import Offsets
from barnabas.spark.source.range_reader import read_ranges
from barnabas.spark.source.rate_limit import limited, limited_by_bytes
from barnabas.spark.source.record_decoding import RecordDecoding, form_of
from barnabas.spark.source.record_sizes import record_sizes
from barnabas.spark.source.stream_position import Json, StreamPosition, position_at, position_of
from barnabas.spark.source.subscription import partitions_of
from barnabas.spark.source.tasks import RangesPartition, plan_tasks

T = TypeVar("T")


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Finds the offsets of micro-batches, and plans and reads them."""

    def __init__(
        self,
        options: StreamOptions,
        schema: StructType,
        parallelism: int | None,
        decoding: RecordDecoding | None = None,
    ) -> None:
        self._options = options
        self._source = options.source
        self._schema = schema
        self._decoding = decoding
        self._parallelism = parallelism
        self._topics: dict[TopicPartition, bytes] = {}
        self._max_age_s = options.source.consumer.metadata_max_age_ms / 1000
        self._looked_around: float | None = None
        self._first_of_new: dict[tuple[TopicPartition, bytes], int] = {}
        self._latest: StreamPosition | None = None
        self._last_of_trigger: StreamPosition | None = None
        self._batch_began: float | None = None
        self._progress: GroupProgress | None = None
        self._idle = IdleWait(options.source.consumer.isolation, options.idle_wait_ms)

    # -- offsets -------------------------------------------------------------------------------

    def initialOffset(self) -> Json:  # noqa: N802 - Spark's
        return self._ask(self._initial).json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's
        records, size = self._options.max_offsets_per_trigger, self._options.max_bytes_per_trigger
        if records is not None:
            return ReadMaxRows(records)
        return ReadAllAvailable() if size is None else ReadMaxBytes(size)

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # noqa: N802 - Spark's
        reached = position_of("the start of a batch", start)
        known, is_endless = self._latest, self._last_of_trigger is None
        if is_endless and known is not None and known.offsets == reached.offsets:
            self._await_news(reached.offsets)
        self._latest = self._ask(self._ends)
        end = self._end_of_batch(start, reached, limit)
        self._idle.answered()
        return end

    def _end_of_batch(self, start: Json, reached: StreamPosition, limit: ReadLimit) -> Json:
        assert self._latest is not None
        last = self._latest if self._last_of_trigger is None else self._last_of_trigger
        if self._options.group_id is not None:
            self._show_progress(
                self._options.group_id, reached.offsets, is_idle=reached.offsets == last.offsets
            )
        self._check(reached, last)
        starts = self._starts(reached, last)
        if self._is_too_early(starts, last.offsets):
            self._idle.pause()
            return start
        if isinstance(limit, ReadMaxRows):
            last = last._replace(offsets=limited(starts, last.offsets, limit.max_rows))
        max_bytes = self._options.max_bytes_per_trigger
        if max_bytes is not None and not isinstance(limit, ReadAllAvailable):
            sizes = self._ask(lambda cluster: record_sizes(cluster, last.offsets))
            last = last._replace(offsets=limited_by_bytes(starts, last.offsets, sizes, max_bytes))
        return last.json()

    def reportLatestOffset(self) -> Json | None:  # noqa: N802 - Spark's
        return None if self._latest is None else self._latest.json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        self._last_of_trigger = self._ask(self._ends)

    # -- reading -------------------------------------------------------------------------------

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        last = position_of("the end of a batch", end)
        starts = self._starts(position_of("the start of a batch", start), last)
        tasks = plan_tasks(
            [
                RecordRange(each, starts[each], offset, last.topic_id(each.topic))
                for each, offset in last.offsets.items()
            ],
            parallelism=self._parallelism,
            min_tasks=self._source.min_partitions,
            max_task_records=self._source.max_records_per_partition,
        )
        return [RangesPartition(each) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangesPartition)
        return read_ranges(self._source, form_of(self._schema, self._decoding), partition)

    # -- what is there -------------------------------------------------------------------------

    async def _initial(self, cluster: ClusterClient) -> StreamPosition:
        source = self._source
        topics = await partitions_of(cluster, source.subscription)
        starts = await log_offsets.resolve(
            cluster,
            source.starting,
            topics,
            source.consumer.isolation,
            may_lie_ahead=source.starting_time_may_lie_ahead,
        )
        if source.starting.each:
            first = await log_offsets.earliest(cluster, topics)
            last = await log_offsets.latest(cluster, topics, source.consumer.isolation)
            for each, offset in starts.items():
                if not first[each] <= offset <= last[each]:
                    report_loss(
                        f"partition {each} should be read from offset {offset}, but has "
                        f"{first[each]} to {last[each]}",
                        fail=source.fail_on_data_loss,
                    )
                    starts[each] = first[each]
        return position_at(starts, topics)

    async def _ends(self, cluster: ClusterClient) -> StreamPosition:
        """Where the logs of all known partitions end now."""
        now = monotonic()
        if self._looked_around is None or now - self._looked_around > self._max_age_s:
            self._topics = await partitions_of(
                cluster,
                self._source.subscription,
                missing_ok=not self._source.fail_on_data_loss,
            )
            self._looked_around = now
        try:
            ends = await log_offsets.latest(cluster, self._topics, self._source.consumer.isolation)
        except UnknownTopic:
            if self._looked_around == now:
                raise
        else:
            if self._looked_around == now or not self._is_shorter(ends):
                return position_at(ends, self._topics)
        self._looked_around = None  # a topic has gone since, or is another one
        return await self._ends(cluster)

    def _is_shorter(self, ends: Offsets) -> bool:
        """Whether a log ends before where it ended when it was last asked."""
        before = {} if self._latest is None else self._latest.offsets
        return any(offset < before.get(each, 0) for each, offset in ends.items())

    def _check(self, reached: StreamPosition, last: StreamPosition) -> None:
        """Report logs that are gone, were recreated, or end before the offset that was read."""
        fail = self._source.fail_on_data_loss
        gone = reached.offsets.keys() - last.offsets.keys()
        if gone and self._last_of_trigger is None:
            report_loss(f"{', '.join(map(str, sorted(gone)))} is gone: was it deleted?", fail=fail)
        recreated = _recreated(reached, last)
        for topic in sorted(recreated):
            read = {
                str(each.partition): offset
                for each, offset in sorted(reached.offsets.items())
                if each.topic == topic
            }
            report_loss(
                f"topic {topic} was deleted and created again since it was read up to {read}: "
                "later records of the old topic are lost, and the new one is read from its "
                "beginning",
                fail=fail,
            )
        for each in reached.offsets.keys() & last.offsets.keys():
            before, now = reached.offsets[each], last.offsets[each]
            if now < before and each.topic not in recreated:
                report_loss(
                    f"partition {each} was read up to offset {before} and now ends at {now}: its "
                    "log was truncated",
                    fail=fail,
                )

    def _starts(self, reached: StreamPosition, last: StreamPosition) -> Offsets:
        """Where a read up to `last` starts; new partitions start at their first offset."""
        recreated = _recreated(reached, last)
        known = {
            each: offset
            for each, offset in reached.offsets.items()
            if each in last.offsets and each.topic not in recreated
        }
        new = {
            (each, last.topic_id(each.topic)): each for each in last.offsets if each not in known
        }
        unknown = {each for key, each in new.items() if key not in self._first_of_new}
        if unknown:
            found = self._ask(lambda cluster: log_offsets.earliest(cluster, unknown))
            self._tell_of_missing_firsts(found)
            self._first_of_new |= {
                (each, last.topic_id(each.topic)): offset for each, offset in found.items()
            }
        return known | {each: self._first_of_new[key] for key, each in new.items()}

    def _tell_of_missing_firsts(self, firsts: Offsets) -> None:
        for each, offset in sorted(firsts.items()):
            if offset:
                report_loss(
                    f"partition {each} is new, and its first {offset} offsets are gone",
                    fail=self._source.fail_on_data_loss,
                )

    def _is_too_early(self, starts: Offsets, ends: Offsets) -> bool:
        """Whether to wait for more records (`minOffsetsPerTrigger`)."""
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
        """Commit where Spark starts: everything before is processed."""
        if self._progress is None:
            self._progress = GroupProgress(connect(self._source.consumer.connection), group_id)
        self._progress.reached(dict(starts))
        if is_idle:  # there may be no next call
            self._progress.wait()

    def _await_news(self, ends: Offsets) -> None:
        if self._idle.is_due:
            self._idle.until_news(connect(self._source.consumer.connection), ends)

    def _ask(self, question: Callable[[ClusterClient], Awaitable[T]]) -> T:
        return connect(self._source.consumer.connection).ask(question)


def _recreated(reached: StreamPosition, last: StreamPosition) -> set[str]:
    """Topics that have the name of a topic that was read, and are not the same topic.

    Where the id of the topic that was read is not known, a shorter log counts as another topic.
    """
    by_id = {
        topic
        for topic, before in reached.topic_ids.items()
        if last.topic_ids.get(topic, before) != before
    }
    shorter = {
        each.topic
        for each, offset in last.offsets.items()
        if each.topic not in reached.topic_ids and offset < reached.offsets.get(each, 0)
    }
    return by_id | shorter
