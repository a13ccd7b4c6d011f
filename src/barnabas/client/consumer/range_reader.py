"""Reading what lies between two offsets of each partition, once.

    fetch(), in a loop's thread        one round: every leader is asked for all that is left there
    records(), in whichever thread     the answers of a round, decoded; `range_tables` makes tables

A reader asks for the next round before it decodes the last one: the network works meanwhile.
What is read was there when the range was chosen: if the log no longer has it, records were lost,
which is reported, never skipped silently.

With a rack, leaders may name a follower there to read from. One that fails, or says that it has no
such offset, is not asked again: its leader is.

Leaves out fetch sessions.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicMetadata, TopicPartition
from barnabas.client.connect.connection_pool import GENERAL, Channel
from barnabas.client.consumer.completed_fetch import end_of
from barnabas.client.consumer.fetch_request import FetchTuning, fetch
from barnabas.client.offsets.isolation import AbortedTransactions, IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.errors import BarnabasError, CorruptRecords, DataLost, UnknownTopic
from barnabas.records.batch import BatchHeader, Buffer
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.errors import RecordsError
from barnabas.records.record import Record
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import AbortedTransaction, PartitionData
from barnabas.wire.primitives import ZERO_UUID

TUNING = FetchTuning(max_wait_ms=100, max_bytes=4 * 1024 * 1024, partition_max_bytes=1024 * 1024)
"""Large answers, as latency does not matter here, but not so large that decoding waits for
the network: four times as much took longer, and more CPU."""

PATIENCE_S = 60.0
_TOPIC_PATIENCE_S = 5.0
_LOOK_AGAIN_S = 0.1


class RecordRange(NamedTuple):
    """The records of a partition from `start` up to but not including `end`.

    `topic_id` says which topic of that name is meant. `ZERO_UUID`: whichever there is.
    """

    partition: TopicPartition
    start: int
    end: int
    topic_id: bytes = ZERO_UUID


class FetchedRange(NamedTuple):
    """Whole batches of a range as they came, from the one that holds `start` on."""

    range: RecordRange
    start: int
    data: Buffer
    aborted: Sequence[AbortedTransaction]


class RangeReader:
    """Reads ranges to their ends.

    `on_loss` is called with ranges that are lost, and the rest is read; without it that is a
    `DataLost`. `min_timestamp_ms` leaves out batches that are older as a whole: what comes may
    hold older records still. Each partition may be named once. `channel` separates concurrent
    readers. A partition of which nothing comes for `patience_s` counts as lost.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        ranges: Iterable[RecordRange],
        *,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
        min_timestamp_ms: int | None = None,
        on_loss: Callable[[str], None] | None = None,
        tuning: FetchTuning = TUNING,
        channel: Channel = GENERAL,
        rack: str = "",
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._cluster = cluster
        self._isolation = isolation
        self._min_timestamp_ms = min_timestamp_ms
        self._on_loss = on_loss
        self._tuning = tuning
        self._channel = channel
        self._rack = rack
        self._patience_s = patience_s
        self._followers: dict[TopicPartition, int] = {}
        self._led: set[TopicPartition] = set()  # read from their leaders only
        self._left = {each.partition: each for each in ranges if each.start < each.end}
        self._positions = {name: each.start for name, each in self._left.items()}
        self._topic_ids = {name: each.topic_id for name, each in self._left.items()}
        self._monotonic = cluster.environment.monotonic
        self._moved_at = self._monotonic()

    # -- fetching ------------------------------------------------------------------------------

    async def fetch(self) -> list[FetchedRange]:
        """The next round; empty once everything was read."""
        while self._left:
            fetched = await self._cluster.retrying(
                self._round, topics={each.topic for each in self._left}
            )
            if fetched:
                self._moved_at = self._monotonic()
                return fetched
        return []

    async def _round(self) -> list[FetchedRange]:
        try:
            leaders = await self._cluster.by_leader(self._left)
        except UnknownTopic as error:
            await self._miss_topics(error)
            return []
        sources = self._with_followers(leaders)
        rounds = (self._fetch_from(node_id, each) for node_id, each in sources.items())
        answers = await asyncio.gather(*rounds, return_exceptions=True)
        fetched = [each for answer in answers if isinstance(answer, list) for each in answer]
        for answer in answers:
            if isinstance(answer, BaseException) and not (fetched and _passes(answer)):
                raise answer
        return fetched

    def _with_followers(
        self, leaders: Mapping[int, list[TopicPartition]]
    ) -> dict[int, list[TopicPartition]]:
        """Whom to ask: the followers that leaders have named, and leaders for the rest."""
        asked: dict[int, list[TopicPartition]] = {}
        for leader, partitions in leaders.items():
            for each in partitions:
                follower = self._followers.get(each)
                if follower is not None and follower not in self._cluster.brokers:
                    self._leave_follower(each)
                    follower = None
                asked.setdefault(leader if follower is None else follower, []).append(each)
        return asked

    def _leave_follower(self, partition: TopicPartition) -> None:
        del self._followers[partition]
        self._led.add(partition)

    async def _fetch_from(
        self, node_id: int, partitions: list[TopicPartition]
    ) -> list[FetchedRange]:
        offsets = {each: self._positions[each] for each in partitions}
        try:
            answers = await fetch(
                self._cluster,
                node_id,
                self._channel,
                offsets,
                self._tuning,
                self._isolation,
                self._topic_ids,
                self._rack if self._led.isdisjoint(partitions) else "",
            )
        except BarnabasError:
            for each in partitions:
                if self._followers.get(each) == node_id:
                    self._leave_follower(each)
            raise
        # The last partitions of a full answer get nothing, even if they have records.
        silent = not any(data.records for _, data in answers)
        failed: BarnabasError | None = None
        fetched = []
        for partition, data in answers:
            wanted = self._left.get(partition)
            if wanted is None:  # dropped meanwhile: its topic is gone
                continue
            try:
                came = await self._accept(wanted, data, silent)
            except UnknownTopic as error:
                await self._miss_topics(error)
            except BarnabasError as error:
                failed = error
            else:
                fetched += came
        if failed is not None and (not fetched or not failed.retriable):
            raise failed
        return fetched

    async def _accept(
        self, wanted: RecordRange, data: PartitionData, silent: bool
    ) -> list[FetchedRange]:
        position = self._positions[wanted.partition]
        if data.error_code and wanted.partition in self._followers:
            self._leave_follower(wanted.partition)
            return []
        if data.preferred_read_replica >= 0 and not data.records:
            if wanted.partition not in self._led:
                self._followers[wanted.partition] = data.preferred_read_replica
            return []
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._miss(wanted, position)
            return []
        code = data.error_code
        if code == ErrorCode.INCONSISTENT_TOPIC_ID:
            code = ErrorCode.UNKNOWN_TOPIC_ID  # a broker that keeps the old log still
        check(code, f"partition {wanted.partition} at offset {position}", needs="read")
        records = data.records or b""
        if not records:
            self._accept_silence(wanted, data, silent)
            return []
        end = end_of(records)
        if end is None:
            raise CorruptRecords(
                f"partition {wanted.partition}: the batch at offset {position} is damaged, "
                f"or larger than the {len(records)} bytes that came of it"
            )
        self._move(wanted, max(end, position))
        committed_only = self._isolation is IsolationLevel.READ_COMMITTED
        aborted = (data.aborted_transactions or ()) if committed_only else ()
        return [FetchedRange(wanted, position, records, aborted)]

    def _accept_silence(self, wanted: RecordRange, data: PartitionData, silent: bool) -> None:
        """Nothing came: compaction has left nothing up to the end, or it is not there yet."""
        limit = data.high_watermark
        if self._isolation is IsolationLevel.READ_COMMITTED and data.last_stable_offset >= 0:
            limit = data.last_stable_offset
        if silent and limit >= wanted.end:
            self._move(wanted, wanted.end)
        elif silent and self._monotonic() - self._moved_at > self._patience_s:
            self._lose(
                f"partition {wanted.partition} ends at offset {limit} and was to be read up to "
                f"{wanted.end}: its log was cut, or a transaction in it does not end"
            )
            self._move(wanted, wanted.end)

    async def _miss(self, wanted: RecordRange, position: int) -> None:
        """The log has no such offset: its beginning was deleted, or it is another log."""
        await self._cluster.refresh_leaders(
            [wanted.partition.topic]
        )  # a former one may have said so
        found = await beginning_and_end(self._cluster, [wanted.partition])
        first, last = found[wanted.partition]
        if first <= position <= last and self._monotonic() - self._moved_at <= _TOPIC_PATIENCE_S:
            await asyncio.sleep(_LOOK_AGAIN_S)  # a leader that is not up to date yet
            return
        goes_on = first if first > position else wanted.end
        self._lose(
            f"partition {wanted.partition} was to be read from offset {position} to {wanted.end} "
            f"and has {first} to {last}: retention has deleted records before they were read, or "
            "the topic was created again"
        )
        self._move(wanted, min(goes_on, wanted.end))

    async def _miss_topics(self, error: UnknownTopic) -> None:
        """Topics are gone, or so new that not every broker knows them."""
        topics = {each.topic for each in self._left}
        await self._cluster.refresh_leaders(topics)  # one of the brokers may not know it yet
        found = {name: self._cluster.known_topic(name) for name in topics}
        gone = [each for each in self._left.values() if not _has(found, each)]
        waited_s = self._monotonic() - self._moved_at
        if not gone and waited_s > self._patience_s:
            raise error
        if gone and waited_s > _TOPIC_PATIENCE_S:
            names = ", ".join(sorted(str(each.partition) for each in gone))
            recreated = any(found[each.partition.topic] is not None for each in gone)
            why = "its topic was deleted and created again" if recreated else str(error)
            self._lose(f"the requested records of {names} no longer exist: {why}")
            for wanted in gone:
                self._move(wanted, wanted.end)
        await asyncio.sleep(_LOOK_AGAIN_S)

    def _move(self, wanted: RecordRange, position: int) -> None:
        self._positions[wanted.partition] = position
        if position >= wanted.end:
            del self._left[wanted.partition]

    def _lose(self, what: str) -> None:
        if self._on_loss is None:
            raise DataLost(what)
        self._on_loss(what)

    # -- batches -------------------------------------------------------------------------------

    def visible(self, fetched: FetchedRange) -> Iterator[tuple[BatchHeader, memoryview]]:
        """The batches with records of the range: no markers, nothing of aborted transactions."""
        aborted = AbortedTransactions(fetched.aborted)
        oldest = self._min_timestamp_ms
        for header, batch in iter_batches(fetched.data):
            if header.base_offset >= fetched.range.end:
                return
            if (
                not aborted.hide(header, batch)
                and not header.is_control
                and header.next_offset > fetched.start
                and (oldest is None or header.max_timestamp >= oldest)
            ):
                yield header, batch

    def records(self, fetched: Iterable[FetchedRange]) -> Iterator[tuple[TopicPartition, Record]]:
        """The records of a round, one by one: for what is small, where there may be no Arrow."""
        for each in fetched:
            with damage_named(each):
                for _, batch in self.visible(each):
                    for record in decode_batch(batch):
                        if each.start <= record.offset < each.range.end:
                            yield each.range.partition, record


@contextmanager
def damage_named(fetched: FetchedRange) -> Iterator[None]:
    """Say of which partition a damaged batch is, and what to do."""
    try:
        yield
    except RecordsError as error:
        raise CorruptRecords(
            f"partition {fetched.range.partition}: a batch after offset {fetched.start} is "
            f"damaged ({error}); `barnabas log repair` on its nodes takes a batch that "
            "can't be read out of the log"
        ) from error


def _has(topics: Mapping[str, TopicMetadata | None], wanted: RecordRange) -> bool:
    """Whether the partition is there, of the topic that is meant."""
    topic = topics[wanted.partition.topic]
    if topic is None:
        return False
    is_same = ZERO_UUID in (topic.topic_id, wanted.topic_id) or topic.topic_id == wanted.topic_id
    return is_same and wanted.partition.partition < len(topic.partitions)


def _passes(error: BaseException) -> bool:
    """Whether others may be read first, and then another attempt may help."""
    return isinstance(error, BarnabasError) and error.retriable
