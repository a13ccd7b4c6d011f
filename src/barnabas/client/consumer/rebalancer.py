"""Partitions from the group, whether the application is there or not.

When the group rebalances, the application is called: it finishes the message that it is at work on,
what is done is committed, its callback runs, and only then is the group joined again. An
application that does not come is not waited for until the others throw it out: shortly before that,
the group is joined again without it.

A partition that this member has in two consecutive generations had no other owner in between: it is
read on from its position, and its progress stays.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.committer import Committer
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.new_topics import NewTopics
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.consumer.start_offsets import StartOffsets
from barnabas.client.group.committed_offsets import fetch_committed
from barnabas.client.group.group_member import GroupMember
from barnabas.errors import BarnabasError

_PATIENCE = 0.8  # of the rebalance timeout


class PartitionChange(Enum):
    """What becomes of partitions."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    """They are revoked next: now is the time to finish."""
    LOST = "lost"
    """They were given to others already."""


class RebalanceEvent(NamedTuple):
    """A change of assignment, as the application sees it."""

    change: PartitionChange
    partitions: list[TopicPartition]


class Rebalancer:
    """Of one member. `notify` is called when there is something for the application to do."""

    def __init__(
        self,
        cluster: ClusterClient,
        member: GroupMember,
        fetcher: Fetcher,
        delivery_queue: DeliveryQueue,
        committer: Committer,
        tasks: BackgroundTasks,
        notify: Callable[[], None],
        *,
        start: int,
        topics: NewTopics,
    ) -> None:
        self.member = member
        self._cluster = cluster
        self._fetcher = fetcher
        self._delivery_queue = delivery_queue
        self._committer = committer
        self._tasks = tasks
        self._notify = notify
        self._starts = StartOffsets(cluster, topics, start, fetcher.isolation)
        self._events: deque[RebalanceEvent] = deque()
        self._partitions: list[TopicPartition] = []
        self._astray = False  # whether the place to read them from has to be looked up
        self._rewinding = False
        self._told = False  # whether the application knows that its partitions go
        self._telling: object = None  # who is being told something right now
        self._settled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_watched = self._has_joined = False
        self._failure: BarnabasError | None = None

    @property
    def is_busy(self) -> bool:
        """Whether the application gets nothing before something else has happened."""
        return bool(self._events) or self._is_needed

    @property
    def _is_needed(self) -> bool:
        return self.member.rejoin_needed.is_set() or self._astray

    def rewind(self) -> None:
        """Read on from where the group has committed, or from the start if it has not."""
        self._astray = self._rewinding = True
        self._delivery_queue.interrupt()
        self._notify()

    async def join_first(self) -> None:
        """Join for the first time; the application is notified of the assignment later."""
        while not self._has_joined:
            if self._task is None:
                self._begin()
            assert self._task is not None
            await asyncio.wait({self._task})
            self._raise_failure()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def wait_for_messages(self, who: object) -> RebalanceEvent | None:
        """The event that the application has to handle, if any.

        It calls `event_handled` after that, or calls this again. Without an event, it waits until
        `is_busy` is over.
        """
        self._raise_failure()
        if self._telling is who:
            self._telling = None
        if self._telling is not None:
            return None
        if self._events:
            self._telling = who
            return self._events.popleft()
        if not self._is_needed or self._task is not None:
            return None
        if self.member.rejoin_needed.is_set() and self._fetcher.states and not self._told:
            self._told, self._telling = True, who
            return await self._that_partitions_go()
        self._begin()
        return None

    async def _that_partitions_go(self) -> RebalanceEvent:
        partitions = list(self._fetcher.states)
        if not self.member.membership.member_id:
            return RebalanceEvent(PartitionChange.LOST, partitions)
        await self._committer.commit_quietly()
        return RebalanceEvent(PartitionChange.REVOKED, partitions)

    def event_handled(self) -> None:
        """The application knows what it was told, and has done what it wanted to do about it."""
        self._telling = None
        self._notify()

    def _begin(self) -> None:
        self._delivery_queue.interrupt()  # it gets nothing before it knows its partitions
        self._task = self._tasks.start(self._rejoin())
        if not self._is_watched:
            self._is_watched = True
            self._tasks.start(self._look_after())

    async def _look_after(self) -> None:
        """Call the application when the group rebalances, and do without it if it does not come."""
        await self._settled.wait()
        while True:
            await self.member.rejoin_needed.wait()
            self._settled.clear()
            self._delivery_queue.interrupt()
            self._notify()
            while not self._settled.is_set():
                try:
                    async with asyncio.timeout(self.member.patience_s(_PATIENCE)):
                        await self._settled.wait()
                except TimeoutError:
                    if self._task is None:
                        self._begin()

    async def _rejoin(self) -> None:
        rewinding, self._rewinding = self._rewinding, False
        try:
            await self._join_and_find_places(rewinding)
        except BarnabasError as error:
            self._rewinding |= rewinding
            self._failure = error
        else:
            self._failure = None
            self._has_joined = True
            self._settled.set()
        finally:
            self._task = None
            self._notify()

    async def _join_and_find_places(self, rewinding: bool) -> None:
        if self.member.rejoin_needed.is_set():
            if not self._told and self.member.membership.member_id:
                await self._committer.commit_quietly()
            self._committer.before_rebalance()
            self._partitions = await self.member.join()
            self._astray = True
        held = {name: each.progress for name, each in self._fetcher.states.items()}
        kept = {} if rewinding else self._kept(held)
        fresh = await self._places(
            [each for each in self._partitions if each not in kept], rewinding=rewinding
        )
        for progress in kept.values():
            self._delivery_queue.drop(progress)
        is_new = self._committer.membership != self.member.membership
        self._committer.membership = self.member.membership
        self._fetcher.assign({**kept, **fresh})
        if is_new or self._told:
            self._report(held, kept)
            self._told = False
        self._astray = self._rewinding  # it may have been requested meanwhile
        if not self._astray:
            self._delivery_queue.end_interruption()

    def _kept(
        self, held: dict[TopicPartition, PartitionProgress]
    ) -> dict[TopicPartition, PartitionProgress]:
        before, now = self._committer.membership, self.member.membership
        is_next = now.generation_id == before.generation_id + 1
        if not is_next or now.member_id != before.member_id:
            return {}
        return {name: held[name] for name in self._partitions if name in held}

    def _report(
        self,
        held: dict[TopicPartition, PartitionProgress],
        kept: dict[TopicPartition, PartitionProgress],
    ) -> None:
        """Report all partitions after a full revocation, otherwise only the changes."""
        gained = self._partitions
        if not self._told:
            lost = [name for name in held if name not in kept]
            gained = [name for name in gained if name not in kept]
            if lost:
                self._events.append(RebalanceEvent(PartitionChange.LOST, lost))
        self._events.append(RebalanceEvent(PartitionChange.ASSIGNED, list(gained)))

    async def _places(
        self, partitions: Sequence[TopicPartition], *, rewinding: bool
    ) -> dict[TopicPartition, PartitionProgress]:
        """Where to read from: what is committed, or the start."""
        if not partitions:
            return {}
        group_id = self.member.group_id
        committed = await fetch_committed(self._cluster, group_id, partitions, stable=True)
        self._starts.forget(committed)
        fresh = [each for each in partitions if each not in committed]
        return {
            **{name: PartitionProgress(offset) for name, offset in committed.items()},
            **await self._starts.look_up(fresh, rewinding=rewinding),
        }
