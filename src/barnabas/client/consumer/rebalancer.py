"""The partitions of a group member, from join to revocation: what both protocols have in common.

A rebalancer works in the core's thread. What the application has to do is told to it as events,
when it comes for messages: `wait_for_messages` returns one, `event_handled` says that it is done.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.broker_errors import worth_retrying
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.committer import Committer
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.new_topics import NewTopics
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.consumer.start_offsets import StartOffsets
from barnabas.client.group.committed_offsets import NO_MEMBER, GroupMembership, fetch_committed
from barnabas.client.group.group_member import GroupMember
from barnabas.errors import BarnabasError, BrokerError, ClientClosed
from barnabas.wire.errors import ErrorCode

PATIENCE = 0.8
"""The share of the rebalance timeout after which an application that does not come is left out."""


MemberT = TypeVar("MemberT", bound=GroupMember)


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


class Rebalancer(ABC, Generic[MemberT]):
    """Of one member. `notify` is called when there is something for the application to do."""

    def __init__(
        self,
        cluster: ClusterClient,
        member: MemberT,
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
        self.count = 0
        """Assignments so far."""
        self._starts = StartOffsets(cluster, topics, start, fetcher.isolation)
        self._events: deque[RebalanceEvent] = deque()
        self._telling: object = None  # who is being told something right now
        self._failure: BarnabasError | None = None
        self._set_up()

    @abstractmethod
    def _set_up(self) -> None:
        """Begin without partitions."""

    @property
    @abstractmethod
    def is_busy(self) -> bool:
        """Whether the application gets nothing before something else has happened."""

    @abstractmethod
    def rewind(self) -> None:
        """Read on from where the group has committed, or from the start if it has not."""

    @abstractmethod
    async def join_first(self) -> None:
        """Join for the first time; the application is notified of the assignment later."""

    @abstractmethod
    async def wait_for_messages(self, who: object) -> RebalanceEvent | None:
        """The event that the application has to handle, if any.

        It calls `event_handled` after that, or calls this again. Without an event, it waits until
        `is_busy` is over.
        """

    @abstractmethod
    def fenced(self, membership: GroupMembership) -> None:
        """The coordinator has refused a commit in the name of this membership."""

    @property
    def untold(self) -> set[TopicPartition]:
        """What is read already, and the application does not know of yet. For any thread."""
        events = list(self._events)
        assigned = (each for each in events if each.change is PartitionChange.ASSIGNED)
        return {name for each in assigned for name in each.partitions}

    def event_handled(self) -> None:
        """The application knows what it was told, and has done what it wanted to do about it."""
        self._telling = None
        self._notify()

    @staticmethod
    def _is_waited_for(error: BarnabasError, *, has_joined: bool) -> bool:
        """Whether a member tries again for as long as it takes, and the application goes on.

        A member that has joined waits for a coordinator that is away, and any one for a transaction
        that another member has left open: its end decides where to read.
        """
        is_undecided = (
            isinstance(error, BrokerError) and error.code is ErrorCode.UNSTABLE_OFFSET_COMMIT
        )
        return is_undecided or (has_joined and worth_retrying(error))

    @staticmethod
    def _raise_if_closed(task: "asyncio.Task[None] | None") -> None:
        """Whoever waits must not begin again what closing has cancelled: it would join again."""
        if task is not None and task.cancelled():
            raise ClientClosed("this Consumer was closed meanwhile")

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def _places(
        self,
        partitions: Sequence[TopicPartition],
        *,
        rewinding: bool,
        membership: GroupMembership = NO_MEMBER,
    ) -> dict[TopicPartition, PartitionProgress]:
        """Where to read from: what is committed, or the start."""
        if not partitions:
            return {}
        group_id = self.member.group_id
        committed = await fetch_committed(
            self._cluster, group_id, partitions, stable=True, membership=membership
        )
        self._starts.forget(committed)
        fresh = [each for each in partitions if each not in committed]
        return {
            **{name: PartitionProgress(offset) for name, offset in committed.items()},
            **await self._starts.look_up(fresh, rewinding=rewinding),
        }
