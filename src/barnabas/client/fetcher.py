"""Fetching ahead: the network works while the application does.

For each leader one fetch is under way, for all partitions that are read from it, and the next one
goes out as soon as it is answered, until more than `PREFETCH_BYTES` wait to be handed out. Since
every fetch asks for all partitions, none of them waits behind another's long poll; a partition that
is newly read or read from elsewhere does not either: what is in its way is given up.

    assign, seek, pause -> readings -> fetches -> chunks, for the application's thread

A partition that cannot be read, because it has no leader or is gone, does not keep the others from
being read: it is set aside and tried again now and then. Only when none is left, for longer than
the cluster's `retry_timeout_ms`, is that a failure. What no attempt will change is one at once.

Leaves out fetch sessions, and the check by leader epochs whether a log was cut.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import NamedTuple

from barnabas.client.away import Absences
from barnabas.client.background import Background
from barnabas.client.chunk import Chunk, Reading, end_of
from barnabas.client.cluster import Channel, Cluster
from barnabas.client.errors import check
from barnabas.client.fetch_request import FetchTuning, fetch
from barnabas.client.isolation import IsolationLevel
from barnabas.client.ledger import Ledger
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import list_offsets
from barnabas.client.prefetched import Prefetched
from barnabas.errors import BarnabasError, ConsumerBroken, CorruptRecords, DataLost
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import PartitionData

PREFETCH_BYTES = 4 * 1024 * 1024

_HURRY_S = 0.02  # a fetch that is not answered by then waits for records


class _Asked(NamedTuple):
    reading: Reading
    epoch: int
    offset: int


class _Leader:
    """The fetches from one broker, one after the other."""

    def __init__(self) -> None:
        self.channel = Channel()
        self.task: asyncio.Task[None] | None = None
        self.asked: Mapping[TopicPartition, _Asked] = {}

    def is_asked_for(self, reading: Reading) -> bool:
        asked = self.asked.get(reading.partition)
        return asked is not None and asked.reading is reading and asked.epoch == reading.epoch


class Fetcher:
    """Reads what it is told to. All but taking `chunks` is for the thread of its loop.

    `out_of_range` is the time (EARLIEST or LATEST) to start again at when a position is no longer
    in the log; without it that is an error. `stir` is called when there is something new: chunks, a
    failure.
    """

    def __init__(
        self,
        cluster: Cluster,
        stir: Callable[[], None],
        *,
        out_of_range: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        tuning: FetchTuning | None = None,
    ) -> None:
        self.readings: dict[TopicPartition, Reading] = {}
        self.isolation = isolation
        self.tuning = tuning or FetchTuning()
        self._cluster = cluster
        self._stir = stir
        self._out_of_range = out_of_range
        self.chunks = Prefetched(PREFETCH_BYTES)
        self._absences = Absences(cluster)
        self._leaders: dict[int, _Leader] = {}
        self._is_driven = False
        self._kick = asyncio.Event()
        self._tasks = Background(stir)

    async def close(self) -> None:
        """Stop fetching."""
        self.assign({})
        await self._tasks.close()
        for leader in self._leaders.values():
            await self._cluster.close_channel(leader.channel)

    # -- what to read --------------------------------------------------------------------------

    def assign(self, ledgers: Mapping[TopicPartition, Ledger]) -> None:
        """Read exactly these partitions, each from where its ledger stands."""
        for reading in self.readings.values():
            reading.epoch += 1
            reading.ledger.void = reading.ledger is not ledgers.get(reading.partition)
        self.readings = {name: Reading(name, ledger) for name, ledger in ledgers.items()}
        self._absences.clear()
        self._kick.set()
        if self.readings and not self._is_driven:
            self._is_driven = True
            self._tasks.start(self._drive())

    def add(self, ledgers: Mapping[TopicPartition, Ledger]) -> None:
        """Read these partitions as well."""
        for name, ledger in ledgers.items():
            self.readings[name] = Reading(name, ledger)
        self._kick.set()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on reading an assigned partition elsewhere.

        Forwards, the ledger stays: what is not done behind it is still not done.
        """
        reading = self.readings[partition]
        if offset >= reading.ledger.position:
            reading.ledger.pass_over(offset)
            reading.ledger.floor = offset
        else:
            reading.ledger.void = True
            reading.ledger = Ledger(offset)
        self._reread(reading)

    def pause(self, partition: TopicPartition) -> None:
        """Fetch no more of a partition, and forget what was fetched ahead."""
        self.readings[partition].paused = True
        self._reread(self.readings[partition])

    def resume(self, partition: TopicPartition) -> None:
        self.readings[partition].paused = False
        self._kick.set()

    def _reread(self, reading: Reading) -> None:
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

    async def _send_to_leader(self, reading: Reading) -> None:
        if reading.leader is None:
            try:
                reading.leader = await self._cluster.leader(reading.partition)
            except BarnabasError as error:
                self._set_aside(reading, error)
                return
        leader = self._leaders.setdefault(reading.leader, _Leader())
        if leader.task is None:
            self._start(reading.leader, leader)
        elif leader.asked and not leader.is_asked_for(reading):
            loop = asyncio.get_running_loop()
            loop.call_later(_HURRY_S, self._hurry, reading.leader, leader, leader.asked)

    def _start(self, node_id: int, leader: _Leader) -> None:
        leader.task = self._tasks.start(self._read_from(node_id, leader))

    def _hurry(self, node_id: int, leader: _Leader, asked: Mapping[TopicPartition, _Asked]) -> None:
        """Give up a long poll that others wait for; its connection would answer it first."""
        if leader.asked is not asked or leader.task is None:
            return
        leader.task.cancel()
        closing, leader.channel = leader.channel, Channel()
        leader.asked = {}
        self._start(node_id, leader)
        self._tasks.start(self._cluster.close_channel(closing))

    async def _read_from(self, node_id: int, leader: _Leader) -> None:
        while True:
            await self.chunks.wait_for_room()
            asked = {
                each.partition: _Asked(each, each.epoch, each.offset)
                for each in self.readings.values()
                if each.leader == node_id and not each.paused
            }
            if not asked:
                leader.task = None
                return
            leader.asked = asked
            try:
                offsets = {partition: each.offset for partition, each in asked.items()}
                answers = await fetch(
                    self._cluster, node_id, leader.channel, offsets, self.tuning, self.isolation
                )
            except BarnabasError as error:
                self._set_all_aside(asked.values(), error)
                continue
            finally:
                if leader.asked is asked:
                    leader.asked = {}
            for partition, data in answers:
                await self._accept(asked[partition], data)

    async def _accept(self, asked: _Asked, data: PartitionData) -> None:
        """Take in what came for a position that still holds."""
        reading, epoch, offset = asked
        if reading.epoch != epoch:
            return
        try:
            if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                await self._start_again(asked)
                return
            check(data.error_code, f"partition {reading.partition} at offset {offset}")
            self._absences.back(reading)
            reading.high_watermark = data.high_watermark
            records = data.records or b""
            if records:
                self._append(asked, data, memoryview(records))
        except BarnabasError as error:
            self._set_aside(reading, error)

    def _append(self, asked: _Asked, data: PartitionData, records: memoryview) -> None:
        reading, epoch, offset = asked
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
            Chunk(reading, epoch, offset, reading.offset, records, aborted, data.high_watermark)
        )
        self._stir()

    async def _start_again(self, asked: _Asked) -> None:
        """The position is not in the log any more, or not yet again."""
        reading, epoch, offset = asked
        if self._out_of_range is None:
            raise DataLost(
                f"partition {reading.partition} has no offset {offset} any more: retention has "
                "deleted it before it was read, or the topic was made anew. Seek to where to go "
                'on, or let on_data_loss="earliest" or "latest" do so'
            )
        times = {reading.partition: self._out_of_range}
        found = await list_offsets(self._cluster, times, self.isolation)
        if reading.epoch == epoch and self.readings.get(reading.partition) is reading:
            self.seek(reading.partition, found[reading.partition].offset)

    def _set_all_aside(self, asked: Iterable[_Asked], error: BarnabasError) -> None:
        for reading, epoch, _ in asked:
            if reading.epoch == epoch:
                self._set_aside(reading, error)

    def _set_aside(self, reading: Reading, error: BarnabasError) -> None:
        reading.leader = None
        self._absences.add(reading, error, monotonic())
        self._kick.set()
        self._stir()
