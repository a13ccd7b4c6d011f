"""Partitions from the group by the classic protocol: all of them are given back in a rebalance.

When the group rebalances, the application is called: it finishes the message that it is at work on,
what is done is committed, its callback runs, and only then is the group joined again. An
application that does not come is not waited for until the others throw it out: shortly before that,
the group is joined again without it.

A partition that this member has in two consecutive generations had no other owner in between: it is
read on from its position, and its progress stays.
"""

import asyncio

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.consumer.rebalancer import (
    PATIENCE,
    PartitionChange,
    RebalanceEvent,
    Rebalancer,
)
from barnabas.client.group.classic_member import ClassicMember
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.errors import BarnabasError


class EagerRebalancer(Rebalancer[ClassicMember]):
    """Of one member of the classic protocol."""

    def _set_up(self) -> None:
        self._partitions: list[TopicPartition] = []
        self._astray = False  # whether the place to read them from has to be looked up
        self._rewinding = False
        self._told = False  # whether the application knows that its partitions go
        self._settled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_watched = self._has_joined = False

    @property
    def is_busy(self) -> bool:
        return bool(self._events) or self._is_needed

    @property
    def _is_needed(self) -> bool:
        return self.member.rejoin_needed.is_set() or self._astray

    def rewind(self) -> None:
        self._astray = self._rewinding = True
        self._delivery_queue.interrupt()
        self._notify()

    async def join_first(self) -> None:
        while not self._has_joined:
            if self._task is None:
                self._begin()
            assert self._task is not None
            task = self._task
            await asyncio.wait({task})
            self._raise_if_closed(task)
            self._raise_failure()

    def fenced(self, membership: GroupMembership) -> None:
        if self.member.membership == membership:
            self.member.rejoin_needed.set()

    async def wait_for_messages(self, who: object) -> RebalanceEvent | None:
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
                    async with asyncio.timeout(self.member.patience_s(PATIENCE)):
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
            if not self._is_waited_for(error, has_joined=self._has_joined):
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
        self.count += 1
        self._events.append(RebalanceEvent(PartitionChange.ASSIGNED, list(gained)))
