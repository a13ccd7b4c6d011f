"""The core of a consumer: what is read, handed out and committed, apart from all waiting.

It stands in two threads. Coroutines run in the loop of the core; `outbox` belongs to the
application's thread, which comes to `attend` when nothing is left there, or when it is wanted.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.all_partitions import AllPartitions
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.committer import Committer
from barnabas.client.consumer.consumer_commits import ConsumerCommits
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.new_topics import NewTopics, once_heard_of
from barnabas.client.consumer.rebalancer import RebalanceEvent, Rebalancer
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.client.group.group_member import GroupMember
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.errors import BarnabasError, ConsumerBroken, InvalidArgument, RequestTimedOut

CLOSE_TIMEOUT_S = 10.0
_LEAVE_S = 0.5  # at least, for leaving the group after a commit that took all the time
_TOPICS_S = 3.0  # for questions about topics that are not there


class ConsumerCore(ConsumerCommits):
    """Reads topics, all of them or a group's share, or partitions that are assigned by hand.

    `start` is the time (EARLIEST, LATEST or milliseconds) where a partition begins that nobody has
    committed. `member` is the one of the group, if there are topics and a group.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        topics: Sequence[str],
        *,
        group_id: str | None = None,
        member: GroupMember | None = None,
        start: int = EARLIEST,
        out_of_range: int | None = None,
        mode: CommitMode = CommitMode.AUTO,
        commit_interval_ms: int | None = 5_000,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        tuning: FetchTuning | None = None,
    ) -> None:
        fetcher = Fetcher(
            cluster, self.stir, out_of_range=out_of_range, isolation=isolation, tuning=tuning
        )
        super().__init__(cluster, fetcher, DeliveryQueue(fetcher, mode))
        self.topics = list(topics)
        self._young = NewTopics(cluster, self.topics)
        self._start_at = start
        self._stirred = asyncio.Event()
        self.waiting = 0
        """How many wait in `attend`."""
        self.is_at_work: Callable[[], bool] = lambda: False
        """Whether messages are being handled while somebody waits: streams know."""
        self.goodbye_s = CLOSE_TIMEOUT_S
        """How long the last commit may take."""
        self.is_assigned = bool(topics)
        """Whether it was said what to read."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = self._is_closing = False
        self._starting = asyncio.Lock()
        self._tasks = BackgroundTasks(self.stir)
        if group_id is None:
            return
        self.committer = Committer(
            cluster,
            group_id,
            self.fetcher,
            self.outbox,
            commit_interval_ms,
            self._fenced,
            self.stir,
        )
        if member is not None:
            self.rebalancer = Rebalancer(
                cluster,
                member,
                self.fetcher,
                self.outbox,
                self.committer,
                self._tasks,
                self.stir,
                start=start,
                topics=self._young,
            )

    async def close(self) -> None:
        """Commit what is done, leave the group, and close every connection."""
        try:
            await self.leave()
        finally:
            await self.cluster.close()

    async def leave(self) -> None:
        """Commit what is done, and leave the group."""
        self._is_closing = True
        self.outbox.cut()  # whoever reads in another thread gets no more
        deadline = monotonic() + self.goodbye_s
        try:
            if self.committer is not None:
                async with asyncio.timeout(self.goodbye_s):
                    await self.committer.commit_at_end()
        except TimeoutError as error:
            raise RequestTimedOut(
                f"the commit on leaving group {self.group_id} was not answered in "
                f"{self.goodbye_s:g} s, so what was done last will be read again: is the cluster "
                "up? A longer close_timeout_s has more patience"
            ) from error
        except BarnabasError as error:
            error.add_note("This was the commit on leaving: what was done last will be read again.")
            raise
        finally:
            await self._tasks.close()
            await self.fetcher.close()
            if self.rebalancer is not None:
                with suppress(TimeoutError):  # it will be missed
                    async with asyncio.timeout(max(_LEAVE_S, deadline - monotonic())):
                        await self.rebalancer.member.leave()

    # -- waiting -------------------------------------------------------------------------------

    def stir(self) -> None:
        """Something has happened: whoever waits looks again."""
        if self.fetcher.away or (self.committer is not None and self.committer.failure):
            self.outbox.wanted = True
        stirred, self._stirred = self._stirred, asyncio.Event()
        stirred.set()

    def stir_from_elsewhere(self) -> None:
        """The same, for any thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self.stir)

    async def attend(
        self,
        timeout_ms: float | None,
        is_ready: Callable[[], bool] | None = None,
        who: object = None,
    ) -> RebalanceEvent | None:
        """Wait until there are messages, at most so long, on behalf of the application.

        If there is something to tell it first, that is returned, and it says when it `heard`. `who`
        tells those apart who wait at the same time.
        """
        deadline = None if timeout_ms is None else monotonic() + timeout_ms / 1000
        if await self._begin(deadline) is not None:
            return None
        self.waiting += 1  # before it is looked, so that whoever brings something then knows
        try:
            is_ready = is_ready or (lambda: self.outbox.is_ready)
            return await self._attend(deadline, is_ready, who or self)
        finally:
            self.waiting -= 1

    async def _attend(
        self, deadline: float | None, is_ready: Callable[[], bool], who: object
    ) -> RebalanceEvent | None:
        rebalancer = self.rebalancer
        while True:
            stirred = self._stirred
            if rebalancer is not None and not self.is_at_work() and not self._is_closing:
                news = await rebalancer.attend(who)
                if news is not None:
                    return news
            self._raise_failure()
            if rebalancer is None or not rebalancer.is_busy:
                self.outbox.wanted = False
                if is_ready():
                    return None
            if not await _wait_until(deadline, stirred):
                return None

    async def heard(self) -> None:
        """The application knows what `attend` has told it."""
        if self.rebalancer is not None:
            self.rebalancer.heard()

    async def join(self) -> None:
        """Have partitions and positions, and tell nobody."""
        await self._begin_soon()
        rebalancer = self.rebalancer
        while rebalancer is not None and rebalancer.is_busy:
            stirred = self._stirred
            if await rebalancer.attend(self) is not None:
                rebalancer.heard()
            elif rebalancer.is_busy:
                await stirred.wait()

    def _raise_failure(self) -> None:
        if self._tasks.crash is not None:
            raise ConsumerBroken.by(self._tasks.crash)
        error = self.fetcher.failure()
        if error is None and self.committer is not None:
            error, self.committer.failure = self.committer.failure, None
        if error is not None:
            raise error

    async def _begin_soon(self) -> None:
        error = await self._begin(monotonic() + _TOPICS_S)
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
            error = await self._young.missing(deadline)
            if error is not None:
                return error
            if self.topics and self.rebalancer is None:
                everything = AllPartitions(self.cluster, self._young, self.fetcher)
                places = await once_heard_of(lambda: everything.places(self._start_at))
                self.start_at(places)
                self._tasks.start(everything.look_for_more())
            if self.committer is not None:
                self._tasks.start(self.committer.run())
            self._started = True
            return None

    async def ready(self) -> None:
        await self._begin_soon()
        if self.rebalancer is not None:
            await self.rebalancer.join_first()

    async def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read exactly these partitions, each from its offset: for who subscribes to no topics."""
        if self.topics:
            raise InvalidArgument("a consumer of topics cannot be assigned partitions as well")
        await self._begin_soon()
        self.is_assigned = True
        self.start_at(offsets)

    def _fenced(self, membership: GroupMembership) -> None:
        if self.rebalancer is not None and self.rebalancer.member.membership == membership:
            self.rebalancer.member.rejoin_needed.set()


async def _wait_until(deadline: float | None, stirred: asyncio.Event) -> bool:
    """Wait for a stir; False when the time is over."""
    left_s = None if deadline is None else deadline - monotonic()
    if left_s is not None and left_s <= 0:
        return False
    try:
        async with asyncio.timeout(left_s):
            await stirred.wait()
    except TimeoutError:
        return False
    return True
