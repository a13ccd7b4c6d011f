"""Partitions from the group by the consumer protocol: only those that move stop.

    assignment -> revoke what goes (commit, callback) -> acknowledge -> add what comes (callback)

When partitions go, the application is called: it finishes the message that it is at work on, what
is done is committed, its callback runs, and the partitions are released. When partitions come, it
is called as well, so that its callback runs before their first message. All other partitions are
fetched meanwhile, and keep their progress.

An application that does not come is not waited for until the coordinator removes this member:
shortly before that, the partitions are released without it, and it hears that they are lost.

One that is fenced loses all its partitions at once, and joins again.
"""

import asyncio
from collections.abc import Sequence

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.environment import RETRY
from barnabas.client.consumer.rebalancer import (
    PATIENCE,
    PartitionChange,
    RebalanceEvent,
    Rebalancer,
)
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.client.group.consumer_member import Assignment, ConsumerMember
from barnabas.errors import BarnabasError, BrokerError
from barnabas.wire.errors import ErrorCode

# The heartbeat will bring another epoch, or the news that this member is none any more.
_OUTDATED = frozenset(
    {
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)


class IncrementalRebalancer(Rebalancer[ConsumerMember]):
    """Of one member of the consumer protocol."""

    def _set_up(self) -> None:
        self.member.on_epoch = self._take_over_epoch
        self.member.on_lost = self._lose
        self._committer.renew = self.member.renew
        self._owned: Assignment = {}
        self._going: list[TopicPartition] = []
        self._told = False  # whether the application knows that they go
        self._released = asyncio.Event()
        self._is_cut = False  # whether the application was kept from what was opened for it
        self._rewinds = 0  # that were requested and not done
        self._is_assigned = False  # whether this incarnation has had its first assignment
        self._has_joined = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_aside = False  # whether it has left because the application does not come

    @property
    def is_busy(self) -> bool:
        return (
            bool(self._events or self._going or self._rewinds)
            or self._is_cut
            or not self._has_joined.is_set()
        )

    def rewind(self) -> None:
        self._rewinds += 1
        self._call_application()
        self.member.changed.set()

    def fenced(self, membership: GroupMembership) -> None:
        if self.member.membership == membership:
            self.member.beat_soon()

    async def join_first(self) -> None:
        while not self._has_joined.is_set():
            self._begin()
            assert self._task is not None
            joined = asyncio.ensure_future(self._has_joined.wait())
            try:
                await asyncio.wait({self._task, joined}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                joined.cancel()
            self._raise_if_closed(self._task)
            self._raise_failure()

    async def step_aside(self) -> bool:
        """Leave the group until the application comes for messages; False if it has already."""
        if self._is_aside or not self._has_joined.is_set():
            return False
        self._is_aside = True
        await self._committer.commit_quietly()
        await self.member.step_aside()
        return True

    # -- the application comes by --------------------------------------------------------------

    async def wait_for_messages(self, who: object) -> RebalanceEvent | None:
        self._raise_failure()
        if self._telling is who:
            self._handled()
        if self._telling is not None:
            return None
        self._begin()
        if self._is_aside:
            self._is_aside = False
            self.member.start()
        self._reopen()
        if self._events:
            self._telling = who
            return self._events.popleft()
        if self._going and not self._told:
            self._telling = who
            going = self._going
            await self._committer.commit_quietly()
            if going is self._going:
                self._told = True
                return RebalanceEvent(PartitionChange.REVOKED, list(going))
            self._telling = None  # they were lost or given up meanwhile
            self._notify()
        return None

    def event_handled(self) -> None:
        self._handled()
        self._notify()

    def _handled(self) -> None:
        self._telling = None
        if self._told:
            self._released.set()

    def _call_application(self) -> None:
        """Have it come by after the message that it is processing."""
        self._is_cut = True
        self._delivery_queue.interrupt()
        self._notify()

    def _reopen(self) -> None:
        """The application waits: what it was kept from is fetched again."""
        if self._is_cut:
            self._is_cut = False
            for name, state in self._fetcher.states.items():
                if self._delivery_queue.drop(state.progress):
                    self._fetcher.reread(name)
            self._delivery_queue.end_interruption()

    # -- reconciliation ------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._task is None:
            self._task = self._tasks.start(self._run())

    async def _run(self) -> None:
        """Follow the assignments until the member gives up; the application then hears why."""
        self.member.start()
        attempts = 0
        while self.member.failure is None:
            self.member.changed.clear()
            try:
                await self._reconcile()
                attempts = 0
                self._failure = None
            except BarnabasError as error:
                attempts += 1
                is_outdated = isinstance(error, BrokerError) and error.code in _OUTDATED
                is_waited_for = self._is_waited_for(error, has_joined=self._has_joined.is_set())
                if not is_outdated and not is_waited_for:
                    self._failure = error
                    self._notify()
                self.member.beat_soon()
                await asyncio.sleep(RETRY.pause(attempts, self._cluster.environment.random))
                continue
            await self.member.changed.wait()
        self._failure, self.member.failure = self.member.failure, None
        self._task = None
        self._notify()

    async def _reconcile(self) -> None:
        member = self.member
        target = member.assignment
        if target is None:
            return
        going = [name for name, topic_id in self._owned.items() if target.get(name) != topic_id]
        if going and not await self._revoke(going):
            return
        member.acknowledge(self._owned)
        coming = [name for name in target if name not in self._owned]
        if going and not coming and self._is_assigned:
            self.count += 1  # one that brings partitions is counted with them
        if not await self._add(coming, target):
            return
        if self._rewinds:
            await self._read_again()
        self._has_joined.set()
        self._notify()

    async def _revoke(self, going: list[TopicPartition]) -> bool:
        """Release partitions, with the application; False if all were lost meanwhile."""
        incarnation = self.member.incarnation
        self._going = going
        self._told = False
        self._released.clear()
        self._call_application()
        try:
            async with asyncio.timeout(self.member.patience_s(PATIENCE)):
                await self._released.wait()
        except TimeoutError:
            await self._committer.commit_quietly()
        if self.member.incarnation != incarnation:
            return False
        self._committer.before_rebalance(going)
        for name in going:
            self._delivery_queue.drop(self._fetcher.states[name].progress)
            del self._owned[name]
        self._fetcher.remove(going)
        if not self._told:
            self._events.append(RebalanceEvent(PartitionChange.LOST, going))
        self._going, self._told = [], False
        self._notify()
        return True

    async def _add(self, coming: Sequence[TopicPartition], target: Assignment) -> bool:
        """Read partitions as well; False if the assignment is another one by now."""
        if coming:
            places = await self._places(coming, rewinding=False, membership=self.member.membership)
            if self.member.assignment is not target:
                self.member.changed.set()
                return False
            self._owned.update({name: target[name] for name in coming})
        if coming or not self._is_assigned:
            self._is_assigned = True
            self.count += 1
            self._events.append(RebalanceEvent(PartitionChange.ASSIGNED, list(coming)))
            self._call_application()
        if coming:
            self._fetcher.add(places)
            self.member.acknowledge(self._owned)
        return True

    async def _read_again(self) -> None:
        """From where the group has committed: what was handed out since does not count."""
        rewinds, incarnation = self._rewinds, self.member.incarnation
        places = await self._places(
            list(self._owned), rewinding=True, membership=self.member.membership
        )
        if self.member.incarnation == incarnation:
            for state in self._fetcher.states.values():
                self._delivery_queue.drop(state.progress)
            self._fetcher.assign({name: places[name] for name in self._owned})
        self._rewinds -= rewinds
        if self._rewinds:
            self.member.changed.set()

    def _take_over_epoch(self) -> None:
        self._committer.membership = self.member.membership

    def _lose(self) -> None:
        """Others read the partitions, or soon will."""
        held = list(self._fetcher.states)
        going = set(self._going) if self._told else set()
        self._committer.before_rebalance(held)
        for state in self._fetcher.states.values():
            self._delivery_queue.drop(state.progress)
        self._fetcher.assign({})
        self._owned = {}
        self._going, self._told = [], False
        self._is_assigned = False
        lost = [name for name in held if name not in going]
        if lost:
            self._events.append(RebalanceEvent(PartitionChange.LOST, lost))
            self._call_application()
        self._released.set()
