"""What groups of all kinds have in common: an id, an image, committed offsets, deadlines, memory.

A group id has one kind of group at a time: classic (`classic/`), or one of a newer protocol
(`modern/`). Committed offsets belong to the id, so they stay when the kind changes; the room
`offsets/` works with groups of any kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.config import GroupConfig
from barnabas.groups.group_type import GroupType
from barnabas.groups.image import GroupImage, GroupsImage
from barnabas.groups.offsets.pending_offsets import PendingOffsets
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_commit import OffsetCommitRequestTopic
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequestTopic

CommittedTopic = OffsetCommitRequestTopic | TxnOffsetCommitRequestTopic


class Committer(NamedTuple):
    """Who commits offsets: a member, an administrator, or a consumer that is no member."""

    member_id: str
    group_instance_id: str | None
    generation_id: int
    """A member epoch in newer protocols; negative if it is no member."""
    uses_epochs: bool = True
    """Whether the version of its request has member epochs."""


class Group(ABC):
    __slots__ = (
        "_images",
        "config",
        "counted_bytes",
        "group_id",
        "pending_offsets",
        "replaced",
        "retention_check_ms",
    )

    group_type: ClassVar[GroupType]

    def __init__(self, group_id: str, config: GroupConfig, images: GroupsImage) -> None:
        self.group_id = group_id
        self.config = config
        self._images = images
        self.counted_bytes = 0
        """How much of the group's size the shard's `GroupMemory` has counted."""
        self.pending_offsets = PendingOffsets()
        self.retention_check_ms: int | None = None
        self.replaced: tuple[Group, CoordinatorDecision] | None = None
        """The group of another kind that this one replaces, until the decision is persisted."""

    @property
    def image(self) -> GroupImage:
        """What is persisted of the group."""
        return self._images[self.group_id]

    # -- state -------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def protocol_type(self) -> str | None:
        """As in ListGroups; None if the group never had members."""

    @property
    @abstractmethod
    def state_name(self) -> str:
        """As in ListGroups."""

    @property
    @abstractmethod
    def member_count(self) -> int: ...

    @property
    @abstractmethod
    def is_deleted(self) -> bool:
        """Whether its deletion is decided and not persisted yet."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether it has no members, and is not deleted."""

    @property
    @abstractmethod
    def is_void(self) -> bool:
        """Whether nothing would be lost if the group were forgotten."""

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """Approximate memory for the group, its members and its offsets."""

    @abstractmethod
    def restore(self, now_ms: int) -> None:
        """Begin from `image` after a restart, with new sessions."""

    # -- committed offsets -------------------------------------------------------------------------

    @abstractmethod
    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics that members are subscribed to; None if not known."""

    @property
    @abstractmethod
    def may_lose_offsets(self) -> bool:
        """Whether offsets of topics to which no member is subscribed may be deleted by hand."""

    @abstractmethod
    def topics_in_use(self) -> frozenset[str] | None:
        """The topics whose offsets do not expire; None means all topics."""

    @property
    @abstractmethod
    def empty_since_ms(self) -> int | None:
        """Since when a group that had members has none; None for any other group."""

    @property
    @abstractmethod
    def is_being_joined(self) -> bool:
        """Whether a member id was given out that has not joined yet."""

    @abstractmethod
    def check_commit(self, committer: Committer, topics: Iterable[CommittedTopic], /) -> ErrorCode:
        """Whether that member may commit offsets of these partitions."""

    @abstractmethod
    def check_txn_commit(
        self, committer: Committer, topics: Iterable[CommittedTopic], /
    ) -> ErrorCode:
        """Whether that member may commit offsets of these partitions in a transaction."""

    @abstractmethod
    def check_fetch(self, member_id: str | None, member_epoch: int, /) -> ErrorCode:
        """Whether that member may fetch committed offsets."""

    @abstractmethod
    def committing(self, member_id: str, error: ErrorCode, now_ms: int) -> None:
        """The member has sent a commit, which is answered with `error`."""

    # -- deletion ----------------------------------------------------------------------------------

    @abstractmethod
    def persist_empty(self, decision: CoordinatorDecision, now_ms: int) -> None:
        """Write a record of the group unless it has one, so that it stays without offsets."""

    @abstractmethod
    def delete(self, decision: CoordinatorDecision) -> None:
        """Write the tombstones of the group's own records. It is empty."""

    # -- time --------------------------------------------------------------------------------------

    @abstractmethod
    def next_deadline_ms(self) -> int | None: ...
