"""Fetching ahead: the network works while the application does.

For each leader one fetch is under way, for all partitions that are read from it, and the next one
goes out as soon as it is answered, until more than `PREFETCH_BYTES` wait to be handed out.

    assign, seek, pause -> states -> requests -> completed fetches, for the application's thread

A topic goes by its id, where the cluster gives ids: one that was deleted and created again is
another topic, in which the old positions mean nothing. That is data loss, and no old position is
committed.

A partition that cannot be read, because it has no leader or is gone, does not keep the others from
being read: it is set aside and tried again now and then. Only when none is left, for longer than
the cluster's `retry_timeout_ms`, is that a failure, unless the consumer `waits`. What no attempt
will change is one at once.

With a rack, a leader may name a follower there to read from. After a while the leader is asked
again, and a follower that fails is not read from for a moment.

Leaves out fetch sessions, and the check by leader epochs whether a log was cut.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping

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
from barnabas.client.consumer.fetch_counts import FetchCounts
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
_FOLLOWER_S = 300.0  # then the leader may know a better one
_LED_S = 10.0  # after a follower has failed, which the leader may not know yet
_SURE_S = 1.0  # brokers hear of new topics sooner
_ANOTHER_TOPIC = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID)
_WHAT_TO_DO = 'Seek to an offset that exists, or set on_data_loss="earliest" or "latest"'


class Fetcher:
    """Fetches the assigned partitions. All but taking `buffer` is for the thread of its loop.

    `out_of_range` is the time (EARLIEST or LATEST) to start again at when a position is no longer
    in the log; without it that is an error. `notify` is called when something was fetched, or has
    failed.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        notify: Callable[[], None],
        *,
        out_of_range: int | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        tuning: FetchTuning | None = None,
        waits: bool = False,
    ) -> None:
        self.states: dict[TopicPartition, FetchState] = {}
        self.isolation = isolation
        self.tuning = tuning or FetchTuning()
        self._cluster = cluster
        self._monotonic = cluster.environment.monotonic
        self._notify = notify
        self._out_of_range = out_of_range
        self.buffer = FetchBuffer(PREFETCH_BYTES)
        self.counts = FetchCounts()
        self._unavailable = UnavailablePartitions(cluster, waits=waits)
        self._leaders: dict[int, BrokerFetcher] = {}
        self._is_running = False
        self._wake = asyncio.Event()
        self._tasks = BackgroundTasks(notify)

    async def close(self) -> None:
        """Stop fetching."""
        self.assign({})
        await self._tasks.close()
        for leader in self._leaders.values():
            await leader.close()

    # -- what to read --------------------------------------------------------------------------

    def assign(self, progresses: Mapping[TopicPartition, PartitionProgress]) -> None:
        """Read exactly these partitions, each from where its progress stands."""
        for state in self.states.values():
            state.epoch += 1
            state.progress.revoked = state.progress is not progresses.get(state.partition)
        self.states = {name: FetchState(name, progress) for name, progress in progresses.items()}
        self._unavailable.clear()
        self._go_on()

    def add(self, progresses: Mapping[TopicPartition, PartitionProgress]) -> None:
        """Read these partitions as well."""
        fresh = {name: FetchState(name, progress) for name, progress in progresses.items()}
        self.states = {**self.states, **fresh}
        self._go_on()

    def remove(self, partitions: Collection[TopicPartition]) -> None:
        """Read these partitions no longer; the others are read on."""
        for name in partitions:
            state = self.states[name]
            state.epoch += 1
            state.progress.revoked = True
            self._unavailable.retry_now(state)
        gone = set(partitions)
        self.states = {name: each for name, each in self.states.items() if name not in gone}
        self._wake.set()

    def _go_on(self) -> None:
        self._wake.set()
        if self.states and not self._is_running:
            self._is_running = True
            self._tasks.start(self._drive())

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on reading an assigned partition elsewhere.

        Forwards, the progress stays: what is not done behind it is still not done.
        """
        state = self.states[partition]
        if offset >= state.progress.position and state.other_since is None:
            state.progress.skip_to(offset)
            state.progress.floor = offset
        else:
            self._replace_progress(state, offset)
        self._reread(state)

    def _replace_progress(self, state: FetchState, offset: int) -> None:
        old, state.progress = state.progress, PartitionProgress(offset)
        old.revoked = True
        if state.other_since is None:
            state.progress.topic_id = old.topic_id
        state.other_since = None  # it is read as whatever topic there is

    def pause(self, partition: TopicPartition) -> None:
        """Stop fetching a partition, and forget what was fetched ahead."""
        self.states[partition].paused = True
        self._reread(self.states[partition])

    def resume(self, partition: TopicPartition) -> None:
        self.states[partition].paused = False
        self._wake.set()

    def reread(self, partition: TopicPartition) -> None:
        """Fetch again what was fetched of a partition and not handed out."""
        self._reread(self.states[partition])

    def _reread(self, state: FetchState) -> None:
        state.epoch += 1
        state.offset = state.progress.position
        self._unavailable.retry_now(state)
        self._wake.set()

    # -- what was read -------------------------------------------------------------------------

    def failure(self) -> BarnabasError | None:
        """What the application has to know; the partition in question is then tried again."""
        if self._tasks.crash is not None:
            return ConsumerBroken.by(self._tasks.crash)
        active = [each for each in self.states.values() if not each.paused]
        error = self._unavailable.failure(active)
        if error is not None:
            self._wake.set()
        return error

    @property
    def unavailable(self) -> Mapping[TopicPartition, BarnabasError]:
        """Partitions that cannot be read now while others are, and why."""
        return self._unavailable.errors()

    # -- fetching ------------------------------------------------------------------------------

    async def _drive(self) -> None:
        """Find leaders for partitions that have none, whenever something has changed."""
        while True:
            self._wake.clear()
            await self._unavailable.refresh_leaders()
            for state in list(self.states.values()):
                if not state.paused and not self._unavailable.is_unavailable(state):
                    await self._send_to_leader(state)
            pause_s = self._unavailable.pause_s()
            try:
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _send_to_leader(self, state: FetchState) -> None:
        if state.leader is None:
            try:
                leader = await self._cluster.leader(state.partition)
                if not await self._is_same_topic(state):
                    return  # it starts again
                state.leader = leader
            except BarnabasError as error:
                self._mark_unavailable(state, error)
                return
        if state.leader not in self._leaders:
            self._leaders[state.leader] = self._reader(state.leader)
        self._leaders[state.leader].wake(state)

    def _reader(self, node_id: int) -> BrokerFetcher:
        work = FetchCallbacks(
            self.buffer.wait_for_room,
            self._states_of,
            self._accept,
            self._mark_unavailable,
            self._may_read_from_followers,
        )
        return BrokerFetcher(
            self._cluster, node_id, work, self._tasks, self.tuning, self.isolation, self.counts
        )

    def _states_of(self, node_id: int) -> list[FetchState]:
        return [each for each in self.states.values() if each.leader == node_id and not each.paused]

    async def _accept(self, asked: RequestedPartition, data: PartitionData) -> None:
        """Take in what came for a position that still holds."""
        state, epoch, offset, topic_id = asked
        if state.epoch != epoch:
            return
        if self._changes_replica(state, data):
            return
        try:
            if data.error_code in _ANOTHER_TOPIC:
                state.progress.topic_uncertain = True
            if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                await self._start_again(asked)
                return
            what = f"partition {state.partition} at offset {offset}"
            check(data.error_code, what, needs="read")
            self._unavailable.back(state)
            state.progress.topic_uncertain = False
            if topic_id != ZERO_UUID:
                state.progress.topic_id = topic_id
            state.high_watermark = data.high_watermark
            records = data.records or b""
            if records:
                self._append(asked, data, memoryview(records))
        except BarnabasError as error:
            self._mark_unavailable(state, error)

    # -- followers -----------------------------------------------------------------------------

    def _may_read_from_followers(self, states: Iterable[FetchState]) -> bool:
        """Whether the leader may name followers: it then sends no records of these partitions."""
        now = self._monotonic()
        return all(each.led_until <= now for each in states)

    def _changes_replica(self, state: FetchState, data: PartitionData) -> bool:
        """Go to the follower that the leader names, or back to the leader."""
        if state.follower_until is None:
            if data.preferred_read_replica < 0 or data.records:
                return False
            state.leader = data.preferred_read_replica
            state.follower_until = self._monotonic() + _FOLLOWER_S
            self._wake.set()
            return True
        if data.error_code:
            self._leave_follower(state, self._monotonic() + _LED_S)
            return True
        if state.follower_until <= self._monotonic():
            self._leave_follower(state)
        return False

    def _leave_follower(self, state: FetchState, led_until: float = 0.0) -> None:
        state.leader = state.follower_until = None
        state.led_until = led_until
        self._wake.set()

    # -- what came -----------------------------------------------------------------------------

    def _append(self, asked: RequestedPartition, data: PartitionData, records: memoryview) -> None:
        state, epoch, offset, _ = asked
        end = end_of(records)
        if end is None:
            raise CorruptRecords(
                f"partition {state.partition}: the batch at offset {offset} is damaged, "
                f"or larger than the {len(records)} bytes that came of it"
            )
        committed_only = self.isolation is IsolationLevel.READ_COMMITTED
        aborted = (data.aborted_transactions or ()) if committed_only else ()
        state.offset = max(offset, end)
        self.counts.bytes_fetched += len(records)
        self.counts.partition_bytes.observe(len(records), self._monotonic())
        self.buffer.append(
            CompletedFetch(
                state, epoch, offset, state.offset, records, aborted, data.high_watermark
            )
        )
        self._notify()

    async def _start_again(self, asked: RequestedPartition) -> None:
        """The position is not in the log any more, or not yet again.

        If there is another leader, it is asked first: a former one lacks what that one has. What
        the leader itself says counts, even if its log has grown beyond the offset since.
        """
        state, epoch, offset, _ = asked
        refused_by = state.leader
        await self._cluster.refresh_leaders([state.partition.topic])
        if state.epoch != epoch:
            return
        if self._cluster.known_leader(state.partition) != refused_by:
            what = f"partition {state.partition} at offset {offset}"
            raise broker_error(ErrorCode.NOT_LEADER_OR_FOLLOWER, what)
        if self._out_of_range is None:
            loss = await self._loss(state.partition, offset)
            if state.epoch == epoch:
                raise loss
            return
        times = {state.partition: self._out_of_range}
        found = await list_offsets(self._cluster, times, self.isolation)
        if state.epoch != epoch:
            return
        start = found[state.partition].offset
        if start > offset:
            if state.progress.position >= offset:
                state.progress.skip_to(start)
            state.offset = start  # what was fetched before it was deleted is still handed out
        else:
            self.seek(state.partition, start)

    async def _loss(self, partition: TopicPartition, offset: int) -> DataLost:
        found = await beginning_and_end(self._cluster, [partition], self.isolation)
        first, end = found[partition]
        if offset < first:
            why = f"retention has deleted what was before {first} before it was read"
        else:
            why = "its end was truncated, the topic was created again, or it never existed"
        return DataLost(
            f"partition {partition} has no offset {offset}: its log begins at {first} and ends "
            f"before {end}; {why}. {_WHAT_TO_DO}"
        )

    async def _is_same_topic(self, state: FetchState) -> bool:
        """Whether the cluster still has the topic that was read; if not, say so or start again.

        For a moment a broker may tell of a topic that is gone already, so others are asked first.
        """
        known = self._cluster.known_topic(state.partition.topic)
        topic_id = ZERO_UUID if known is None else known.topic_id
        before = state.progress.topic_id
        if topic_id == ZERO_UUID or before in (None, topic_id):
            state.topic_id = topic_id
            state.other_since = None
            return True
        state.progress.topic_uncertain = True
        now = self._monotonic()
        if state.other_since is None:
            state.other_since = now
        if now - state.other_since < _SURE_S:
            what = f"partition {state.partition}"
            raise broker_error(
                ErrorCode.UNKNOWN_TOPIC_ID, what, "its topic seems to have been created again"
            )
        if self._out_of_range is None:
            raise DataLost(
                f"partition {state.partition}: its topic was deleted and created again, so offset "
                f"{state.progress.position} is no longer valid. {_WHAT_TO_DO}"
            )
        epoch = state.epoch
        times = {state.partition: self._out_of_range}
        found = await list_offsets(self._cluster, times, self.isolation)
        if state.epoch == epoch:
            self._replace_progress(state, found[state.partition].offset)
            self._reread(state)
        return False

    def _mark_unavailable(self, state: FetchState, error: BarnabasError) -> None:
        if state.follower_until is not None:
            self._leave_follower(state, self._monotonic() + _LED_S)
            return
        state.leader = None
        self._unavailable.add(state, error, self._monotonic())
        self._wake.set()
        self._notify()
