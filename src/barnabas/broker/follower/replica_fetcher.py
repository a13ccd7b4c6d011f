"""Fetches from one leader and appends to the local logs.

One request is in flight. A second is sent when there is something to add while the leader delays
its answer to the first: the leader then answers the first at once. A partition that fails is left
out for a while and does not delay the others. For a topic that sets `flush.*`, the fetcher waits
for the flush before it fetches, also when it begins to follow, since a fetch acknowledges
everything below its offset: a replica whose log can't be flushed fetches nothing. A replica that is
not in sync is left out while such replicas copy faster than `follower.replication.throttled.rate`.
"""

import logging
from asyncio import Future, Task, sleep, wait
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from barnabas.backoff import Backoff
from barnabas.broker.follower.epoch_query import ask_epochs
from barnabas.broker.follower.follower_log import (
    append_fetched,
    has_nothing_in_common,
    start_at,
    start_over,
    take_over_bounds,
    truncate,
)
from barnabas.broker.follower.replica_session import Followed, Key, ReplicaSession
from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.replica_doubt import examine_epochs, fetch_position
from barnabas.broker.replica.replica_truncation import truncate_suspect
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import DeleteJob, StorageError
from barnabas.records.errors import CorruptBatch
from barnabas.replication import EpochEnd
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse, PartitionData

logger = logging.getLogger(__name__)

LANE = "replica"
_PATIENCE_MS = 3_000
"""How long a leader may take, in addition to the maximum wait of a fetch."""
_BACKOFF_MS = Backoff(20, 1_000)
_AT_ONCE = 2
_THROTTLE_CHECK_MS = 1_000
"""The throttle may be lifted, or its rate raised, while a partition waits for it."""


@dataclass(frozen=True, slots=True)
class FetcherHost:
    """What all fetchers of a node share."""

    node_id: int
    peers: Peers
    config: BrokerConfig
    broker_epoch: Callable[[], int]
    """The epoch of this node's registration."""
    flush: Callable[[Partition], None]
    remove: Callable[[DeleteJob], None]


class ReplicaFetcher:
    """The partitions of this node that one other node leads."""

    def __init__(self, leader_id: int, host: FetcherHost) -> None:
        self.leader_id = leader_id
        self._host = host
        self._loop = host.peers.loop
        self._clock = host.peers.clock
        self._followed: dict[Key, Followed] = {}
        self._session = ReplicaSession(
            host.node_id,
            host.config.replicas.fetch_response_max_bytes,
            host.config.replicas.fetch_max_bytes,
        )
        self._max_wait_ms = host.config.replicas.fetch_wait_max_ms
        self._calls: deque[tuple[int, Future[FetchResponse]]] = deque()
        """With the numbers of the requests."""
        self._woken: Future[None] | None = None
        self._task: Task[None] = self._loop.create_task(self._run())

    # -- what is followed --------------------------------------------------------------------------

    def follow(self, partition: Partition) -> None:
        followed = Followed(partition)
        self.leave(partition)
        self._followed[followed.key] = followed
        self._name_when_flushed(followed)

    def leave(self, partition: Partition) -> None:
        key = (partition.topic_id, partition.index)
        followed = self._followed.pop(key, None)
        if followed is None:
            return
        if followed.retry is not None:
            followed.retry.cancel()
        self._session.forget(key)
        self._wake()

    def stop(self) -> "Task[None]":
        """Stop fetching; the returned task is done when the fetcher has ended."""
        for followed in tuple(self._followed.values()):
            self.leave(followed.partition)
        self._task.cancel()
        return self._task

    def _back_off(self, followed: Followed, backoff_ms: float | None = None) -> None:
        """Leave a partition out for a while; the time grows with the number of failures."""
        if self._followed.get(followed.key) is not followed:
            return  # it is followed again since, and asked for under the same key
        self._session.forget(followed.key)
        if followed.retry is not None:
            return
        doubled = _BACKOFF_MS.after(followed.backoff_ms)
        followed.backoff_ms = doubled if backoff_ms is None else backoff_ms
        followed.retry = self._loop.call_later(followed.backoff_ms / 1000, self._retry, followed)

    def _retry(self, followed: Followed) -> None:
        followed.retry = None
        self._name_when_flushed(followed)

    def _name_when_flushed(self, followed: Followed) -> None:
        """Fetch the partition with the next request, or see later whether it is flushed by then."""
        partition = followed.partition
        offset, _ = fetch_position(partition)
        if partition.flush_required and partition.log.flushed_offset < offset:
            self._host.flush(partition)
            self._back_off(followed)
            return
        self._session.name(followed)
        self._wake()

    # -- requests ----------------------------------------------------------------------------------

    def _wake(self, _: object = None) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def _run(self) -> None:
        calls = self._calls
        try:
            while True:
                if self._may_ask():
                    self._ask()
                if not calls or not calls[0][1].done():
                    self._woken = self._loop.create_future()
                    await self._woken
                while calls and calls[0][1].done():
                    await self._answered(*calls.popleft())
        finally:
            self._drop_calls()

    def _drop_calls(self) -> None:
        for _, call in self._calls:
            if not call.cancel() and not call.cancelled():
                call.exception()  # retrieved, so that asyncio does not warn
        self._calls.clear()

    def _may_ask(self) -> bool:
        if not self._calls:
            return not self._session.is_idle
        return self._session.is_open and self._session.has_news and len(self._calls) < _AT_ONCE

    def _ask(self) -> None:
        broker_epoch = self._host.broker_epoch()
        if not self._session.is_of(broker_epoch):
            self._start_over()
        request = self._session.next_request(broker_epoch, self._max_wait_ms)
        call = self._host.peers.call(
            self.leader_id,
            request,
            FetchRequest.MAX_VERSION,
            timeout_ms=self._max_wait_ms + _PATIENCE_MS,
            lane=LANE,
        )
        call.add_done_callback(self._wake)
        self._calls.append((self._session.requests, call))

    def _start_over(self) -> None:
        """Begin a new session; responses of the old one are ignored from now on."""
        self._drop_calls()
        self._session.reset()
        for followed in self._followed.values():
            if followed.retry is None:
                self._session.name(followed)

    # -- responses ---------------------------------------------------------------------------------

    async def _answered(self, number: int, call: "Future[FetchResponse]") -> None:
        try:
            response = call.result()
        except PeerUnavailable:
            self._start_over()
            await sleep(_BACKOFF_MS.first / 1000)  # the peers wait longer when it fails again
            return
        if response.error_code:
            self._start_over()
            return
        self._session.opened(response.session_id)
        to_flush = []
        taken = []
        left = [
            ((topic.topic_id, data.partition_index), data)
            for topic in response.responses
            for data in topic.partitions
        ]
        while left:
            lacking = []
            for key, data in left:
                followed = self._followed.get(key)
                if followed is None or followed.retry is not None:
                    continue
                if not followed.is_answered_by(number):
                    continue
                self._take(followed, data)
                if followed.lacks_epochs:
                    lacking.append((followed, data))
                    continue
                if followed.partition.follower_throttle is not None and data.records:
                    taken.append((followed, len(data.records)))
                if followed.partition.flush_required and followed.retry is None:
                    to_flush.append(followed)
            if lacking:
                await self._learn_epochs([followed for followed, _ in lacking])
            left = [(followed.key, data) for followed, data in lacking]
        if to_flush:
            await self._flush(to_flush)
        for followed, size in taken:
            self._throttle(followed, size)

    async def _learn_epochs(self, lacking: list[Followed]) -> None:
        """Ask the leader where its epochs began; a partition that gets no answer is left out."""
        answers = await ask_epochs(self._host.peers, self.leader_id, lacking)
        for followed in lacking:
            followed.lacks_epochs = False
            followed.leader_epochs = answers.get(followed.key)
            if followed.leader_epochs is None:
                self._back_off(followed)

    def _throttle(self, followed: Followed, size: int) -> None:
        """Leave a partition out for a while if replicas that catch up copy too fast."""
        throttle = followed.partition.follower_throttle
        if throttle is None:
            return
        throttle.record(size)
        is_there = self._followed.get(followed.key) is followed and followed.retry is None
        if is_there and self._wait_for_throttle(followed):
            self._session.forget(followed.key)

    def _wait_for_throttle(self, followed: Followed) -> bool:
        """Whether the partition has to wait; then it is looked at again later."""
        throttle = followed.partition.follower_throttle
        if throttle is None or self._host.node_id in followed.partition.isr:
            return False
        throttle_ms = min(throttle.throttle_ms(), _THROTTLE_CHECK_MS)
        if throttle_ms:
            followed.retry = self._loop.call_later(throttle_ms / 1000, self._throttled, followed)
        return throttle_ms > 0

    def _throttled(self, followed: Followed) -> None:
        if not self._wait_for_throttle(followed):
            self._retry(followed)

    def _take(self, followed: Followed, data: PartitionData) -> None:
        partition = followed.partition
        end = partition.log.log_end_offset
        doubt = partition.doubt
        has_suspects = doubt.suspect_from is not None and not doubt.is_only_hole
        try:
            out_of_range = data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            if out_of_range and has_nothing_in_common(partition, data.log_start_offset):
                start_at(partition, max(0, data.log_start_offset))
            elif data.error_code:
                self._refused(followed, data.error_code)
                return
            elif data.diverging_epoch is not None:
                diverging = data.diverging_epoch
                has_no_common = diverging.end_offset <= data.log_start_offset
                if has_no_common and partition.log.may_have_gaps:
                    start_over(partition, data.log_start_offset)
                else:
                    truncate(partition, EpochEnd(diverging.epoch, diverging.end_offset))
            elif has_suspects:
                truncate_suspect(partition)
                self._session.name(followed)
            else:
                if data.records:
                    followed.lacks_epochs = not append_fetched(
                        partition, data.records, self._clock.now_ms(), followed.leader_epochs
                    )
                    if followed.lacks_epochs:
                        return
                elif doubt.refetch_upto:
                    doubt.caught_up(end, data.high_watermark)
                job = take_over_bounds(partition, data.high_watermark, data.log_start_offset)
                if job is not None:
                    self._host.remove(job)
        except CorruptBatch as error:
            sent = f"its leader, node {self.leader_id}, has sent a damaged batch: {error}"
            partition.log_refusal(CorruptBatch(sent), self._clock.now_ms())
            self._back_off(followed, _BACKOFF_MS.longest)
            return
        except StorageError as error:
            partition.log_refusal(error, self._clock.now_ms())
            partition.unwritable()  # the leader need not wait until it lags
            self._back_off(followed, _BACKOFF_MS.longest)
            return
        log = partition.log
        if (end, followed.asked_start) != (log.log_end_offset, log.log_start_offset):
            followed.backoff_ms = 0
            self._session.name(followed)
        elif data.error_code or data.diverging_epoch is not None:
            self._back_off(followed)  # a retry without a pause would get the same answer, endlessly

    def _refused(self, followed: Followed, error_code: int) -> None:
        partition = followed.partition
        if error_code == ErrorCode.CORRUPT_MESSAGE:
            end = partition.log.log_end_offset
            lost = StorageError(f"its leader, node {self.leader_id}, has lost offset {end}")
            partition.log_refusal(lost, self._clock.now_ms())
        is_last_try = followed.backoff_ms >= _BACKOFF_MS.longest
        if error_code == ErrorCode.OFFSET_OUT_OF_RANGE and is_last_try:
            # Not before: the leader may have to hear of a new epoch first.
            examine_epochs(partition, partition.leader_epoch)
        self._back_off(followed)

    async def _flush(self, to_flush: Iterable[Followed]) -> None:
        """Wait until the fetched records are flushed; a partition that can't be flushed is left
        out."""
        for followed in to_flush:
            self._host.flush(followed.partition)  # start all flushes, then repeat where necessary
        for followed in to_flush:
            partition = followed.partition
            end = partition.log.log_end_offset
            # The log may be cut meanwhile.
            while (
                partition.log.flushed_offset < min(end, partition.log.log_end_offset)
                and followed.is_following
            ):
                flushed = partition.flush_waits.next()
                self._host.flush(partition)
                # The future itself is not awaited: a fetcher that is cancelled would cancel it too,
                # and mistake that for a failed flush.
                await wait([flushed])
                if flushed.cancelled():
                    self._back_off(followed, _BACKOFF_MS.longest)
                    break
