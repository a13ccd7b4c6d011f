"""The core of a consumer: what is read, handed out and committed, apart from all waiting.

It is used by two threads. Coroutines run in the core's loop. `delivery_queue` belongs to the
application's thread, which calls `wait_for_messages` when the queue is empty or interrupted.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.all_partitions import AllPartitions
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.committer import Committer
from barnabas.client.consumer.consumer_commits import ConsumerCommits
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.eager_rebalancer import EagerRebalancer
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.incremental_rebalancer import IncrementalRebalancer
from barnabas.client.consumer.new_topics import NewTopics, retry_until_known
from barnabas.client.consumer.poll_watch import PollWatch
from barnabas.client.consumer.rebalancer import RebalanceEvent
from barnabas.client.group.classic_member import ClassicMember
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.client.group.consumer_member import ConsumerMember
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.errors import BarnabasError, ConsumerBroken, InvalidArgument, RequestTimedOut

_log = logging.getLogger("barnabas")
CLOSE_TIMEOUT_S = 10.0
_LEAVE_S = 0.5  # at least, for leaving the group after a commit that took all the time
_TOPICS_S = 3.0  # for questions about topics that are not there


class ConsumerCore(ConsumerCommits):
    """Reads topics, all of them or a group's share, or partitions that are assigned by hand.

    `start` is the time (EARLIEST, LATEST or milliseconds) where a partition starts that has no
    committed offset. `member` is the one of the group, if there are topics and a group; of the
    consumer protocol, it leaves if no messages are asked for in `max_poll_interval_ms`.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        topics: Sequence[str],
        *,
        group_id: str | None = None,
        member: ClassicMember | ConsumerMember | None = None,
        start: int = EARLIEST,
        out_of_range: int | None = None,
        mode: CommitMode = CommitMode.AUTO,
        commit_interval_ms: int | None = 5_000,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        tuning: FetchTuning | None = None,
        max_poll_interval_ms: int | None = None,
    ) -> None:
        fetcher = Fetcher(
            cluster,
            self.notify,
            out_of_range=out_of_range,
            isolation=isolation,
            tuning=tuning,
            waits=group_id is not None,
        )
        self.monotonic = cluster.environment.monotonic
        super().__init__(cluster, fetcher, DeliveryQueue(fetcher, mode))
        self.topics = list(topics)
        self._new_topics = NewTopics(cluster, self.topics)
        self._start_at = start
        self._notified = asyncio.Event()
        self.waiting = 0
        """How many wait in `wait_for_messages`."""
        self.is_at_work: Callable[[], bool] = lambda: False
        """Whether messages are being handled while a caller waits; set by streams."""
        self.close_timeout_s = CLOSE_TIMEOUT_S
        """How long the last commit may take."""
        self.is_assigned = bool(topics) or member is not None
        """Whether it was said what to read."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = self._is_closing = False
        self._max_poll_interval_ms: int | None = None
        self._starting = asyncio.Lock()
        self._tasks = BackgroundTasks(self.notify)
        if group_id is None:
            return
        self.committer = Committer(
            cluster,
            group_id,
            self.fetcher,
            self.delivery_queue,
            commit_interval_ms,
            self._fenced,
            self.notify,
        )
        parts = (self.fetcher, self.delivery_queue, self.committer, self._tasks, self.notify)
        if isinstance(member, ClassicMember):
            self.rebalancer = EagerRebalancer(
                cluster, member, *parts, start=start, topics=self._new_topics
            )
        elif member is not None:
            self.rebalancer = IncrementalRebalancer(
                cluster, member, *parts, start=start, topics=self._new_topics
            )
            self._max_poll_interval_ms = max_poll_interval_ms

    async def close(self) -> None:
        """Commit what is done, leave the group, and close every connection."""
        try:
            await self.leave()
        finally:
            await self.cluster.close()

    async def leave(self) -> None:
        """Commit what is done, and leave the group."""
        self._is_closing = True
        self.delivery_queue.interrupt()  # a thread that still reads gets nothing else
        deadline = self.monotonic() + self.close_timeout_s
        try:
            if self.committer is not None:
                async with asyncio.timeout(self.close_timeout_s):
                    await self.committer.commit_at_end()
        except TimeoutError as error:
            raise RequestTimedOut(
                f"the commit on leaving group {self.group_id} was not answered in "
                f"{self.close_timeout_s:g} s: the last messages will be delivered again; check "
                "that the cluster is up, or set a longer close_timeout_s"
            ) from error
        except BarnabasError as error:
            error.add_note(
                "This was the last commit before leaving: the last messages will be read again."
            )
            raise
        finally:
            await self._tasks.close()
            await self.fetcher.close()
            if self.rebalancer is not None:
                with suppress(TimeoutError):  # it will be missed
                    async with asyncio.timeout(max(_LEAVE_S, deadline - self.monotonic())):
                        await self.rebalancer.member.leave()

    # -- waiting -------------------------------------------------------------------------------

    def notify(self) -> None:
        """Something has happened: those that wait look again."""
        if self.fetcher.unavailable or (self.committer is not None and self.committer.failure):
            self.delivery_queue.interrupted = True
        notified, self._notified = self._notified, asyncio.Event()
        notified.set()

    def notify_threadsafe(self) -> None:
        """The same, for any thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self.notify)

    async def wait_for_messages(
        self,
        timeout_ms: float | None,
        is_ready: Callable[[], bool] | None = None,
        who: object = None,
    ) -> RebalanceEvent | None:
        """Wait for messages on behalf of the application, at most `timeout_ms`.

        A rebalance event that the application has to handle first is returned; it calls
        `event_handled` after that. `who` identifies the caller, if several wait at the same time.
        """
        deadline = None if timeout_ms is None else self.monotonic() + timeout_ms / 1000
        if await self._begin(deadline) is not None:
            return None
        self.waiting += 1  # before the check, so that a notifier sees it
        try:
            is_ready = is_ready or (lambda: self.delivery_queue.is_ready)
            return await self._wait_for_messages(deadline, is_ready, who or self)
        finally:
            self.waiting -= 1

    async def _wait_for_messages(
        self, deadline: float | None, is_ready: Callable[[], bool], who: object
    ) -> RebalanceEvent | None:
        rebalancer = self.rebalancer
        while True:
            notified = self._notified
            if rebalancer is not None and not self.is_at_work() and not self._is_closing:
                event = await rebalancer.wait_for_messages(who)
                if event is not None:
                    return event
            self._raise_failure()
            if rebalancer is None or not rebalancer.is_busy:
                self.delivery_queue.interrupted = False
                if is_ready():
                    return None
            left_s = None if deadline is None else deadline - self.monotonic()
            if not await _wait(left_s, notified):
                return None

    @property
    def known_assignment(self) -> list[TopicPartition]:
        """The partitions that the application can have heard of. For any thread."""
        untold = set() if self.rebalancer is None else self.rebalancer.untold
        return [name for name in self.assignment if name not in untold]

    async def event_handled(self) -> None:
        """The application knows what `wait_for_messages` has told it."""
        if self.rebalancer is not None:
            self.rebalancer.event_handled()

    async def join(self) -> None:
        """Have partitions and positions, without calling the application."""
        await self._begin_soon()
        rebalancer = self.rebalancer
        while rebalancer is not None and rebalancer.is_busy:
            notified = self._notified
            if await rebalancer.wait_for_messages(self) is not None:
                rebalancer.event_handled()
            elif rebalancer.is_busy:
                await notified.wait()

    def _raise_failure(self) -> None:
        if self._tasks.crash is not None:
            raise ConsumerBroken.by(self._tasks.crash)
        error = self.fetcher.failure()
        if error is None and self.committer is not None:
            error, self.committer.failure = self.committer.failure, None
        if error is not None:
            raise error

    async def _begin_soon(self) -> None:
        error = await self._begin(self.monotonic() + _TOPICS_S)
        if error is not None:
            raise error

    async def _begin(self, deadline: float | None) -> BarnabasError | None:
        """What waits for the first use: finding the topics, and where they begin.

        Topics that are not there are waited for until the deadline; what is wrong then.
        """
        async with self._starting:
            if self._started:
                return None
            self._loop = asyncio.get_running_loop()
            error = await self._new_topics.missing(deadline)
            if error is not None:
                return error
            if self.topics and self.rebalancer is None:
                everything = AllPartitions(self.cluster, self._new_topics, self.fetcher)
                places = await retry_until_known(
                    self.cluster.environment, lambda: everything.places(self._start_at)
                )
                self.start_at(places)
                self._tasks.start(everything.look_for_more())
            if self.committer is not None:
                self._tasks.start(self.committer.run())
            if self._max_poll_interval_ms is not None:
                self._tasks.start(self._watch_polls(self._max_poll_interval_ms))
            self._started = True
            return None

    async def _watch_polls(self, interval_ms: int) -> None:
        rebalancer = self.rebalancer
        assert isinstance(rebalancer, IncrementalRebalancer)
        watch = PollWatch(
            self.delivery_queue, lambda: self.waiting > 0, interval_ms, self.monotonic
        )
        while True:
            await watch.silence()
            if await rebalancer.step_aside():
                _log.warning(
                    "the consumer has left group %s: no messages were asked for in %d ms "
                    "(max_poll_interval_ms); it joins again when they are",
                    self.group_id,
                    interval_ms,
                )

    async def ready(self) -> None:
        await self._begin_soon()
        if self.rebalancer is not None:
            await self.rebalancer.join_first()

    async def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read exactly these partitions, each from its offset: for who subscribes to no topics."""
        if self.topics or self.rebalancer is not None:
            raise InvalidArgument("a consumer of topics cannot be assigned partitions as well")
        await self._begin_soon()
        self.is_assigned = True
        self.start_at(offsets)

    def _fenced(self, membership: GroupMembership) -> None:
        if self.rebalancer is not None:
            self.rebalancer.fenced(membership)


async def _wait(left_s: float | None, notified: asyncio.Event) -> bool:
    """Wait for a stir; False when the time is over."""
    if left_s is not None and left_s <= 0:
        return False
    try:
        async with asyncio.timeout(left_s):
            await notified.wait()
    except TimeoutError:
        return False
    return True
