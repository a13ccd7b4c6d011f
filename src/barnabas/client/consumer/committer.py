"""Commits the progress of partitions to the group.

In the background, every now and then, if that is wanted; or when the application asks for it; or by
the transactions of a producer, with what was made of the records.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import NamedTuple

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.group.committed_offsets import NO_MEMBER, GroupMembership, commit_offsets
from barnabas.errors import BarnabasError, BrokerError, UnknownTopic
from barnabas.wire.errors import ErrorCode

# The group has moved on without this member: others read these records again.
_FENCED = frozenset(
    {
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
    }
)


class CommittableOffsets(NamedTuple):
    """Offsets that may be committed, in the name of the member that read up to them."""

    offsets: dict[TopicPartition, int]
    membership: GroupMembership


class Committer:
    """For one member, or for who reads in the name of a group without being a member.

    `interval_ms=None`: it commits nothing by itself. `on_fenced` hears that the group has moved on
    from this membership; `notify` is called when there is a failure.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        group_id: str,
        fetcher: Fetcher,
        delivery_queue: DeliveryQueue,
        interval_ms: int | None,
        on_fenced: Callable[[GroupMembership], None],
        notify: Callable[[], None],
    ) -> None:
        self.membership = NO_MEMBER
        """In whose name: the one that was in force when the partitions were assigned."""
        self.failure: BarnabasError | None = None
        """Why it cannot commit in the background; the application has to hear of it."""
        self.renew: Callable[[GroupMembership], Awaitable[bool]] | None = None
        """Waits for the epoch after the one of a membership; False if the member has lost it."""
        self._cluster = cluster
        self.group_id = group_id
        self._fetcher = fetcher
        self._delivery_queue = delivery_queue
        self._interval_ms = interval_ms
        self._on_fenced = on_fenced
        self._notify = notify
        self._deferred: dict[TopicPartition, int] = {}
        self._deferred_by = NO_MEMBER
        self._taken: list[PartitionProgress] | None = None
        """What `take` has handed over last; None if some of it was gone by then."""
        self._lock = asyncio.Lock()

    # -- what may be committed -----------------------------------------------------------------

    def committable_offsets(self) -> dict[TopicPartition, int]:
        """For each partition where it is news to the group: the offset to read next."""
        return {
            name: claim
            for name, state in self._fetcher.states.items()
            if not state.progress.topic_uncertain
            and (claim := self._committable_offset(state.progress)) != state.progress.committed
        }

    def _committable_offset(self, progress: PartitionProgress) -> int:
        message = self._delivery_queue.at_work_on(progress)
        if self._delivery_queue.mode is CommitMode.MANUAL and not self._delivery_queue.tracks:
            return (
                progress.position if message is None else max(progress.position, message.offset + 1)
            )
        low = progress.smallest_unfinished()
        if self._delivery_queue.mode is CommitMode.AUTO and message is not None:
            return max(low, message.offset)
        return low

    # -- committing ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Commit every now and then, until cancelled."""
        if self._interval_ms is None:
            return
        while True:
            await asyncio.sleep(self._interval_ms / 1000)
            await self.commit_quietly()

    async def commit_quietly(self) -> None:
        """Commit, if this is done without being asked for; what fails is tried again later."""
        if self._interval_ms is None:
            return
        try:
            await self.commit()
        except BarnabasError as error:
            if not error.retriable and not self._is_fenced(error):
                self.failure = error
                self._notify()

    async def commit_at_end(self) -> None:
        """The last commit. Being fenced is not an error: another member reads the records again.

        Nor is a deleted topic: there is nothing left to commit.
        """
        if self._interval_ms is None:
            return
        try:
            await self.commit()
        except UnknownTopic:
            pass
        except BrokerError as error:
            if not self._is_fenced(error):
                raise

    def _is_fenced(self, error: BarnabasError) -> bool:
        """Whether the member was fenced, which is part of a rebalance."""
        is_member = self.membership != NO_MEMBER
        return is_member and isinstance(error, BrokerError) and error.code in _FENCED

    async def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Commit these offsets, or whatever may be committed."""
        async with self._lock:
            chosen = self.committable_offsets() if offsets is None else dict(offsets)
            self._deferred = {}
            if not chosen:
                return
            states = self._fetcher.states
            progresses = {name: states[name].progress for name in chosen if name in states}
            ids = {name: each.topic_id for name, each in progresses.items() if each.topic_id}
            await self._commit(chosen, ids)
            for name, progress in progresses.items():
                progress.committed = chosen[name]

    async def _commit(
        self, offsets: Mapping[TopicPartition, int], ids: Mapping[TopicPartition, bytes]
    ) -> None:
        while True:
            membership = self.membership
            try:
                await commit_offsets(self._cluster, self.group_id, offsets, membership, ids)
                return
            except BrokerError as error:
                # The coordinator has a later epoch of this member, which the heartbeat brings.
                is_stale = error.code is ErrorCode.STALE_MEMBER_EPOCH
                if is_stale and self.renew is not None and await self.renew(membership):
                    continue
                if error.code in _FENCED:
                    self._on_fenced(membership)
                raise

    # -- leaving it to transactions ------------------------------------------------------------

    def take(self) -> CommittableOffsets:
        """Hand over what may be committed, to be committed by the caller.

        It is committed in the name of the member that read the first of it. If the group has moved
        on since, that is refused: others may read these records.
        """
        is_deferred = bool(self._deferred)
        membership = self._deferred_by if is_deferred else self.membership
        self._defer()
        offsets, self._deferred = self._deferred, {}
        states = self._fetcher.states
        self._taken = None if is_deferred else [states[name].progress for name in offsets]
        return CommittableOffsets(offsets, membership)

    async def renew_membership(self, membership: GroupMembership) -> GroupMembership | None:
        """A newer epoch to commit in what was taken; None if some of it is no longer this member's.

        That is how the consumer protocol tells members of a rebalance in which they lose nothing.
        """
        taken = self._taken
        if taken is None or self.renew is None or not await self.renew(membership):
            return None
        return None if any(each.revoked for each in taken) else self.membership

    def before_rebalance(self, partitions: Collection[TopicPartition] | None = None) -> None:
        """Keep in mind what was read in the old name, and is for a transaction to commit.

        Of these partitions, which go to others, or of all. A start that nothing was delivered from
        is left to the next generation: in the name of this one it would be refused, and with it a
        transaction that has read nothing of this one.
        """
        if self._interval_ms is None:
            if not self._deferred:
                self._deferred_by = self.membership
            self._defer(self._is_delivered, partitions)

    def _is_delivered(self, progress: PartitionProgress) -> bool:
        at_work = self._delivery_queue.at_work_on(progress) is not None
        return at_work or not progress.is_unread_start

    def forget(self) -> None:
        """Nothing that was read so far will be committed."""
        self._defer()
        self._deferred = {}

    def _defer(
        self,
        is_chosen: Callable[[PartitionProgress], bool] = lambda _: True,
        partitions: Collection[TopicPartition] | None = None,
    ) -> None:
        for name, claim in self.committable_offsets().items():
            progress = self._fetcher.states[name].progress
            if is_chosen(progress) and (partitions is None or name in partitions):
                self._deferred[name] = claim
                progress.committed = claim
