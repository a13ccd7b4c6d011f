"""Fetching ahead: the network works while the application does.

For each leader one fetch is under way, for all partitions that are read from it, and the next one
goes out as soon as it is answered, until more than `PREFETCH_BYTES` wait to be handed out.

    assign, seek, pause -> readings -> fetches -> chunks, for the application's thread

A topic goes by its id, where the cluster gives ids: one that was deleted and made anew is another
topic, in which the old positions mean nothing. That is data lost, and no old position is committed.

A partition that cannot be read, because it has no leader or is gone, does not keep the others from
being read: it is set aside and tried again now and then. Only when none is left, for longer than
the cluster's `retry_timeout_ms`, is that a failure. What no attempt will change is one at once.

Leaves out fetch sessions, and the check by leader epochs whether a log was cut.
"""

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.broker_fetcher import (
    BrokerFetcher,
    FetchCallbacks,
    RequestedPartition,
)
from barnabas.client.consumer.completed_fetch import CompletedFetch, FetchState, end_of
from barnabas.client.consumer.fetch_buffer import FetchBuffer
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.consumer.unavailable_partitions import UnavailablePartitions
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end, list_offsets
from barnabas.errors import BarnabasError, ConsumerBroken, CorruptRecords, DataLost
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import PartitionData
from barnabas.wire.primitives import ZERO_UUID

PREFETCH_BYTES = 4 * 1024 * 1024
_SURE_S = 1.0  # brokers hear of new topics sooner
_ANOTHER_TOPIC = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID)
_WHAT_TO_DO = 'Seek to where to go on, or let on_data_loss="earliest" or "latest" do so'


class Fetcher:
    """Reads what it is told to. All but taking `chunks` is for the thread of its loop.

    `out_of_range` is the time (EARLIEST or LATEST) to start again at when a position is no longer
    in the log; without it that is an error. `stir` is called when there is something new: chunks, a
    failure.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        stir: Callable[[], None],
        *,
        out_of_range: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        tuning: FetchTuning | None = None,
    ) -> None:
        self.readings: dict[TopicPartition, FetchState] = {}
        self.isolation = isolation
        self.tuning = tuning or FetchTuning()
        self._cluster = cluster
        self._stir = stir
        self._out_of_range = out_of_range
        self.chunks = FetchBuffer(PREFETCH_BYTES)
        self._absences = UnavailablePartitions(cluster)
        self._leaders: dict[int, BrokerFetcher] = {}
        self._is_driven = False
        self._kick = asyncio.Event()
        self._tasks = BackgroundTasks(stir)

    async def close(self) -> None:
        """Stop fetching."""
        self.assign({})
        await self._tasks.close()
        for leader in self._leaders.values():
            await leader.close()

    # -- what to read --------------------------------------------------------------------------

    def assign(self, ledgers: Mapping[TopicPartition, PartitionProgress]) -> None:
        """Read exactly these partitions, each from where its ledger stands."""
        for reading in self.readings.values():
            reading.epoch += 1
            reading.ledger.void = reading.ledger is not ledgers.get(reading.partition)
        self.readings = {name: FetchState(name, ledger) for name, ledger in ledgers.items()}
        self._absences.clear()
        self._kick.set()
        if self.readings and not self._is_driven:
            self._is_driven = True
            self._tasks.start(self._drive())

    def add(self, ledgers: Mapping[TopicPartition, PartitionProgress]) -> None:
        """Read these partitions as well."""
        for name, ledger in ledgers.items():
            self.readings[name] = FetchState(name, ledger)
        self._kick.set()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on reading an assigned partition elsewhere.

        Forwards, the ledger stays: what is not done behind it is still not done.
        """
        reading = self.readings[partition]
        if offset >= reading.ledger.position and reading.other_since is None:
            reading.ledger.pass_over(offset)
            reading.ledger.floor = offset
        else:
            self._replace_ledger(reading, offset)
        self._reread(reading)

    def _replace_ledger(self, reading: FetchState, offset: int) -> None:
        old, reading.ledger = reading.ledger, PartitionProgress(offset)
        old.void = True
        if reading.other_since is None:
            reading.ledger.topic_id = old.topic_id
        reading.other_since = None  # it is read as whatever topic there is

    def pause(self, partition: TopicPartition) -> None:
        """Fetch no more of a partition, and forget what was fetched ahead."""
        self.readings[partition].paused = True
        self._reread(self.readings[partition])

    def resume(self, partition: TopicPartition) -> None:
        self.readings[partition].paused = False
        self._kick.set()

    def _reread(self, reading: FetchState) -> None:
        reading.epoch += 1
        reading.offset = reading.ledger.position
        self._absences.forgive(reading)
        self._kick.set()

    # -- what was read -------------------------------------------------------------------------

    def failure(self) -> BarnabasError | None:
        """What the application has to know; the partition in question is then tried again."""
        if self._tasks.crash is not None:
            return ConsumerBroken.by(self._tasks.crash)
        active = [each for each in self.readings.values() if not each.paused]
        error = self._absences.failure(active)
        if error is not None:
            self._kick.set()
        return error

    @property
    def away(self) -> Mapping[TopicPartition, BarnabasError]:
        """Partitions that cannot be read now while others are, and why."""
        return self._absences.errors()

    # -- fetching ------------------------------------------------------------------------------

    async def _drive(self) -> None:
        """Find leaders for partitions that have none, whenever something has changed."""
        while True:
            self._kick.clear()
            await self._absences.look_around()
            for reading in list(self.readings.values()):
                if not reading.paused and not self._absences.is_away(reading):
                    await self._send_to_leader(reading)
            pause_s = self._absences.pause_s()
            try:
                async with asyncio.timeout(pause_s):
                    await self._kick.wait()
            except TimeoutError:
                pass

    async def _send_to_leader(self, reading: FetchState) -> None:
        if reading.leader is None:
            try:
                leader = await self._cluster.leader(reading.partition)
                if not await self._is_same_topic(reading):
                    return  # it starts again
                reading.leader = leader
            except BarnabasError as error:
                self._set_aside(reading, error)
                return
        if reading.leader not in self._leaders:
            self._leaders[reading.leader] = self._reader(reading.leader)
        self._leaders[reading.leader].wake(reading)

    def _reader(self, node_id: int) -> BrokerFetcher:
        work = FetchCallbacks(
            self.chunks.wait_for_room, self._readings_of, self._accept, self._set_aside
        )
        return BrokerFetcher(self._cluster, node_id, work, self._tasks, self.tuning, self.isolation)

    def _readings_of(self, node_id: int) -> list[FetchState]:
        return [
            each for each in self.readings.values() if each.leader == node_id and not each.paused
        ]

    async def _accept(self, asked: RequestedPartition, data: PartitionData) -> None:
        """Take in what came for a position that still holds."""
        reading, epoch, offset, topic_id = asked
        if reading.epoch != epoch:
            return
        try:
            if data.error_code in _ANOTHER_TOPIC:
                reading.ledger.doubtful = True
            if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                await self._start_again(asked)
                return
            check(data.error_code, f"partition {reading.partition} at offset {offset}")
            self._absences.back(reading)
            reading.ledger.doubtful = False
            if topic_id != ZERO_UUID:
                reading.ledger.topic_id = topic_id
            reading.high_watermark = data.high_watermark
            records = data.records or b""
            if records:
                self._append(asked, data, memoryview(records))
        except BarnabasError as error:
            self._set_aside(reading, error)

    def _append(self, asked: RequestedPartition, data: PartitionData, records: memoryview) -> None:
        reading, epoch, offset, _ = asked
        end = end_of(records)
        if end is None:
            raise CorruptRecords(
                f"partition {reading.partition}: the batch at offset {offset} is damaged, "
                f"or larger than the {len(records)} bytes that came of it"
            )
        committed_only = self.isolation is IsolationLevel.READ_COMMITTED
        aborted = (data.aborted_transactions or ()) if committed_only else ()
        reading.offset = max(offset, end)
        self.chunks.append(
            CompletedFetch(
                reading, epoch, offset, reading.offset, records, aborted, data.high_watermark
            )
        )
        self._stir()

    async def _start_again(self, asked: RequestedPartition) -> None:
        """The position is not in the log any more, or not yet again."""
        reading, epoch, offset, _ = asked
        if self._out_of_range is None:
            loss = await self._loss(reading.partition, offset)
            if reading.epoch == epoch:
                raise loss
            return
        times = {reading.partition: self._out_of_range}
        found = await list_offsets(self._cluster, times, self.isolation)
        if reading.epoch != epoch:
            return
        start = found[reading.partition].offset
        if start > offset:
            if reading.ledger.position >= offset:
                reading.ledger.pass_over(start)
            reading.offset = start  # what was fetched before it was deleted is still handed out
        else:
            self.seek(reading.partition, start)

    async def _loss(self, partition: TopicPartition, offset: int) -> DataLost:
        found = await beginning_and_end(self._cluster, [partition], self.isolation)
        first, end = found[partition]
        if offset < first:
            why = f"retention has deleted what was before {first} before it was read"
        else:
            why = "its end was cut off, the topic was made anew, or the offset was never right"
        return DataLost(
            f"partition {partition} has no offset {offset}: its log begins at {first} and ends "
            f"before {end}; {why}. {_WHAT_TO_DO}"
        )

    async def _is_same_topic(self, reading: FetchState) -> bool:
        """Whether the cluster still has the topic that was read; if not, say so or start again.

        For a moment a broker may tell of a topic that is gone already, so others are asked first.
        """
        known = self._cluster.known_topic(reading.partition.topic)
        topic_id = ZERO_UUID if known is None else known.topic_id
        before = reading.ledger.topic_id
        if topic_id == ZERO_UUID or before in (None, topic_id):
            reading.topic_id = topic_id
            reading.other_since = None
            return True
        reading.ledger.doubtful = True
        now = monotonic()
        if reading.other_since is None:
            reading.other_since = now
        if now - reading.other_since < _SURE_S:
            what = f"partition {reading.partition}"
            raise broker_error(
                ErrorCode.UNKNOWN_TOPIC_ID, what, "its topic was made anew, it seems"
            )
        if self._out_of_range is None:
            raise DataLost(
                f"partition {reading.partition}: its topic was deleted and made anew, so offset "
                f"{reading.ledger.position} means nothing any more. {_WHAT_TO_DO}"
            )
        epoch = reading.epoch
        times = {reading.partition: self._out_of_range}
        found = await list_offsets(self._cluster, times, self.isolation)
        if reading.epoch == epoch:
            self._replace_ledger(reading, found[reading.partition].offset)
            self._reread(reading)
        return False

    def _set_aside(self, reading: FetchState, error: BarnabasError) -> None:
        reading.leader = None
        self._absences.add(reading, error, monotonic())
        self._kick.set()
        self._stir()
