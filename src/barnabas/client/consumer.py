"""The consumer: partitions with positions in, records out.

One fetch is under way to every leader. When it answers, the next one goes out before the records
are handed over, so the network works while the application does. An answer counts only if it was
asked for from the position that the partition still has: seeking needs no other precaution.

A partition that cannot be read, because it has no leader or is gone, does not keep the others from
being read: it is set aside and tried again now and then. Only when none is left is that an error.

A batch may begin before the position, because a broker sends whole batches; the records before it
are dropped. Control batches move the position and show no records. What aborted transactions wrote
is shown unless only committed records are asked for. Fetch sessions are left out.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from time import monotonic
from types import TracebackType
from typing import NamedTuple, Self

from barnabas.client.backoff import pause_before
from barnabas.client.cluster import Channel, Cluster
from barnabas.client.errors import (
    BarnabasError,
    BrokerError,
    CorruptRecords,
    InvalidArgument,
    check,
)
from barnabas.client.isolation import AbortedTransactions, IsolationLevel
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import list_offsets
from barnabas.records.batch import Buffer
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.errors import RecordsError
from barnabas.records.record import Record
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)

_TOPICS_BY_NAME = 12  # from version 13 on, topics go by their ids


class Fetched(NamedTuple):
    """Records of one partition, in order, and the offset up to which the broker has more.

    `next_offset` lies behind them, and behind what was passed over on the way: markers, and what
    was aborted. It is the one to commit.
    """

    partition: TopicPartition
    records: list[Record]
    high_watermark: int
    next_offset: int


class _Answer(NamedTuple):
    partition: TopicPartition
    asked_offset: int
    data: PartitionData


class _Away(NamedTuple):
    """A partition that cannot be read now: why, since when, and when it is tried again."""

    error: BarnabasError
    since: float
    attempts: int
    retry_at: float


class _Fetch(NamedTuple):
    """A request under way, and the positions it was made from."""

    task: "asyncio.Task[list[_Answer]]"
    offsets: Mapping[TopicPartition, int]


class Consumer:
    """Reads the partitions it is told to, from the offsets it is told to.

    `out_of_range` is the time (EARLIEST or LATEST) to start again at when a position is no longer
    in the log; without it that is an error. With READ_COMMITTED, records of transactions are handed
    over once these are committed; one that goes on holds back what comes after it.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        out_of_range: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        max_bytes: int = 50 * 1024 * 1024,
        partition_max_bytes: int = 1024 * 1024,
    ) -> None:
        self._cluster = cluster
        self._out_of_range = out_of_range
        self._isolation = isolation
        self._max_wait_ms = max_wait_ms
        self._min_bytes = min_bytes
        self._max_bytes = max_bytes
        self._partition_max_bytes = partition_max_bytes
        self._positions: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._away: dict[TopicPartition, _Away] = {}
        self._fetches: dict[int, _Fetch] = {}
        self._failure: BarnabasError | None = None
        self._failures = 0
        self._failing_since = 0.0
        self._channel = Channel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop fetching."""
        tasks = [fetch.task for fetch in self._fetches.values()]
        self._fetches.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._cluster.close_channel(self._channel)

    # -- positions -----------------------------------------------------------------------------

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read exactly these partitions, each from its offset."""
        for partition, offset in offsets.items():
            _check_offset(partition, offset)
        self._positions = dict(offsets)
        self._paused.clear()
        self._away.clear()
        self._failure = None

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on reading an assigned partition elsewhere."""
        _check_offset(partition, offset)
        if partition not in self._positions:
            raise InvalidArgument(f"partition {partition} is not assigned to this consumer")
        self._positions[partition] = offset

    def pause(self, partition: TopicPartition) -> None:
        """Fetch no more of a partition until partitions are assigned anew."""
        self._paused.add(partition)

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The offset of the next record that `poll` will return, for each assigned partition."""
        return self._positions

    @property
    def away(self) -> Mapping[TopicPartition, BarnabasError]:
        """Partitions that cannot be read now while others are, and why."""
        return {partition: each.error for partition, each in self._away.items()}

    # -- fetching ------------------------------------------------------------------------------

    async def poll(self, timeout_ms: int = 1_000) -> list[Fetched]:
        """Wait until there are records, at most about `timeout_ms`.

        Brokers that are away are tried again until the cluster's `retry_timeout_ms` is over.
        """
        try:
            if self._failure is not None:
                raise self._failure
            await self._start_fetches()
            if not self._fetches:
                await asyncio.sleep(timeout_ms / 1000)
                return []
            fetched = await self._finish_fetches(timeout_ms)
            if fetched:
                await self._start_fetches()
        except BarnabasError as error:
            await self._after_failure(error)
            return []
        return fetched

    async def _start_fetches(self) -> None:
        now = monotonic()
        due = {name.topic for name, each in self._away.items() if each.retry_at <= now}
        if due:
            await self._cluster.look_around(due)
        by_leader: defaultdict[int, dict[TopicPartition, int]] = defaultdict(dict)
        for partition, offset in self._positions.items():
            away = self._away.get(partition)
            if partition in self._paused or (away is not None and away.retry_at > now):
                continue
            try:
                by_leader[await self._cluster.leader(partition)][partition] = offset
            except BrokerError as error:
                self._set_aside(partition, error)
        for node_id, offsets in by_leader.items():
            if node_id not in self._fetches:
                task = asyncio.create_task(self._fetch(node_id, offsets))
                self._fetches[node_id] = _Fetch(task, offsets)
        if self._away and not self._fetches:
            first = next(iter(self._away.values()))
            self._away.clear()
            raise first.error

    def _set_aside(self, partition: TopicPartition, error: BarnabasError) -> None:
        """Go on with the other partitions, unless the error is for good."""
        if not error.retriable:
            raise error
        now = monotonic()
        known = self._away.get(partition)
        since = now if known is None else known.since
        attempts = 1 if known is None else known.attempts + 1
        self._away[partition] = _Away(error, since, attempts, now + pause_before(attempts))
        self._cluster.on_retry(error, now - since)

    async def _finish_fetches(self, timeout_ms: int) -> list[Fetched]:
        """Take in the answers that are there; an error is raised when they are handed over."""
        done, _ = await asyncio.wait(
            [fetch.task for fetch in self._fetches.values()],
            timeout=timeout_ms / 1000,
            return_when=asyncio.FIRST_COMPLETED,
        )
        fetched: list[Fetched] = []
        failure: BarnabasError | None = None
        for node_id, fetch in list(self._fetches.items()):
            if fetch.task not in done:
                continue
            del self._fetches[node_id]
            try:
                for answer in self._answers_of(fetch):
                    fetched += await self._accept_or_set_aside(answer)
            except BarnabasError as error:
                failure = error
        if failure is not None:
            if not fetched:
                raise failure
            self._failure = failure
        return fetched

    def _answers_of(self, fetch: _Fetch) -> list[_Answer]:
        """What a broker answered; all that it was asked for is set aside if it did not."""
        try:
            return fetch.task.result()
        except BarnabasError as error:
            for partition in fetch.offsets.keys() & self._positions.keys():
                self._set_aside(partition, error)
            return []

    async def _accept_or_set_aside(self, answer: _Answer) -> list[Fetched]:
        try:
            fetched = await self._accept(answer)
        except BarnabasError as error:
            self._set_aside(answer.partition, error)
            return []
        self._away.pop(answer.partition, None)
        self._failures = 0
        return fetched

    async def _after_failure(self, error: BarnabasError) -> None:
        """Pause and look around, or raise what cannot be helped."""
        now = monotonic()
        if self._failures == 0:
            self._failing_since = now
        self._failures += 1
        failing_ms = (now - self._failing_since) * 1000
        if not error.retriable or failing_ms > self._cluster.retry_timeout_ms:
            raise error
        self._cluster.on_retry(error, failing_ms / 1000)
        await asyncio.sleep(pause_before(self._failures))
        await self._cluster.look_around({each.topic for each in self._positions})

    async def _fetch(self, node_id: int, offsets: Mapping[TopicPartition, int]) -> list[_Answer]:
        topics: defaultdict[str, list[FetchPartition]] = defaultdict(list)
        for (topic, partition), offset in offsets.items():
            topics[topic].append(
                FetchPartition(
                    partition=partition,
                    fetch_offset=offset,
                    partition_max_bytes=self._partition_max_bytes,
                )
            )
        request = FetchRequest(
            max_wait_ms=self._max_wait_ms,
            min_bytes=self._min_bytes,
            max_bytes=self._max_bytes,
            isolation_level=self._isolation,
            topics=[FetchTopic(topic=name, partitions=each) for name, each in topics.items()],
        )
        connection = await self._cluster.connection(node_id, self._channel)
        answer = connection.send(
            request,
            max_version=_TOPICS_BY_NAME,
            timeout_ms=self._max_wait_ms + self._cluster.request_timeout_ms,
        )
        response = await self._cluster.while_leading(
            node_id, offsets.keys(), answer, patience_ms=self._max_wait_ms
        )
        check(response.error_code, f"fetch from broker {node_id}")
        named = [
            (TopicPartition(answers.topic, answer.partition_index), answer)
            for answers in response.responses
            for answer in answers.partitions
        ]
        return [_Answer(name, offsets[name], data) for name, data in named if name in offsets]

    async def _accept(self, answer: _Answer) -> list[Fetched]:
        """Hand over what came for a position that still holds, and move the position behind it."""
        partition, offset, data = answer
        if self._positions.get(partition) != offset or partition in self._paused:
            return []
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and self._out_of_range is not None:
            start = await list_offsets(
                self._cluster, {partition: self._out_of_range}, self._isolation
            )
            self._positions[partition] = start[partition].offset
            return []
        check(data.error_code, f"partition {partition} at offset {offset}")
        committed_only = self._isolation is IsolationLevel.READ_COMMITTED
        aborted = AbortedTransactions(data.aborted_transactions if committed_only else None)
        records, following = _decode(partition, offset, data.records or b"", aborted)
        self._positions[partition] = following
        return [Fetched(partition, records, data.high_watermark, following)] if records else []


def _decode(
    partition: TopicPartition, start: int, data: Buffer, aborted: AbortedTransactions
) -> tuple[list[Record], int]:
    """The records from `start` on, and the offset behind them."""
    records: list[Record] = []
    following = start
    try:
        for header, batch in iter_batches(data):
            if not aborted.hide(header, batch) and not header.is_control:
                decoded = decode_batch(batch)
                if header.base_offset < start:
                    decoded = [record for record in decoded if record.offset >= start]
                records += decoded
            following = max(following, header.next_offset)
    except RecordsError as error:
        raise CorruptRecords(
            f"partition {partition}: the batch at offset {following} is damaged ({error})"
        ) from error
    return records, following


def _check_offset(partition: TopicPartition, offset: int) -> None:
    if offset < 0:
        raise InvalidArgument(f"partition {partition}: offset {offset} is negative")
