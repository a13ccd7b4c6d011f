"""What a consumer commits: what it can be asked, and told."""

from collections.abc import Iterable, Mapping

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.committer import CommittableOffsets, Committer
from barnabas.client.consumer.consumer_positions import ConsumerPositions
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.eager_rebalancer import EagerRebalancer
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.incremental_rebalancer import IncrementalRebalancer
from barnabas.client.group.committed_offsets import (
    NO_MEMBER,
    GroupMembership,
    fetch_committed,
)
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message


class ConsumerCommits(ConsumerPositions):
    """Of one consumer; `committer` if it has a group, `rebalancer` if it is a member of it."""

    def __init__(
        self, cluster: ClusterClient, fetcher: Fetcher, delivery_queue: DeliveryQueue
    ) -> None:
        super().__init__(cluster, fetcher, delivery_queue)
        self.committer: Committer | None = None
        self.rebalancer: EagerRebalancer | IncrementalRebalancer | None = None

    async def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Commit these offsets, or whatever may be committed."""
        await self.needs_group().commit(offsets)

    async def committed(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, int]:
        """What the group has committed; partitions without anything are left out."""
        if partitions is None:
            await self.ready()
        names = self.assignment if partitions is None else partitions
        return await fetch_committed(self.cluster, self.group_id, list(names), stable=True)

    @property
    def group_id(self) -> str:
        """The group whose offsets are committed."""
        return self.needs_group().group_id

    @property
    def membership(self) -> GroupMembership:
        """The member that it is in the group. For any thread."""
        return NO_MEMBER if self.rebalancer is None else self.rebalancer.member.membership

    def needs_group(self) -> Committer:
        if self.committer is None:
            raise InvalidArgument("a consumer without a group commits nothing: give it a group")
        return self.committer

    def done(self, message: Message) -> None:
        """A message that was handed out is done. For any thread."""
        if self.delivery_queue.mode is not CommitMode.DONE:
            raise InvalidArgument('done(message) is for consumers that are made with commit="done"')
        state = self.fetcher.states.get((message[0], message[1]))  # type: ignore[call-overload]
        if state is not None:
            state.progress.finish_one(message[2])

    def done_up_to(self, message: Message) -> None:
        """A message and all that were handed out before it are done. For any thread."""
        if self.delivery_queue.mode is not CommitMode.DONE:
            raise InvalidArgument('done_up_to is for consumers that are made with commit="done"')
        state = self.fetcher.states.get((message[0], message[1]))  # type: ignore[call-overload]
        if state is not None:
            state.progress.finish(message[2] + 1)

    def take_offsets(self) -> CommittableOffsets:
        """Leave it to a transaction to commit what was handed out, or is done."""
        committer = self.needs_group()
        if self.rebalancer is None:
            raise InvalidArgument("transactions need a consumer that has topics and a group")
        return committer.take()

    async def renew_membership(self, membership: GroupMembership) -> GroupMembership | None:
        """In whose name a transaction may commit what it took, after that membership is refused."""
        return await self.needs_group().renew_membership(membership)

    def rewind(self) -> None:
        """Forget what was handed out, and read on from where the group has committed."""
        self.needs_group().forget()
        if self.rebalancer is not None:
            self.rebalancer.rewind()
