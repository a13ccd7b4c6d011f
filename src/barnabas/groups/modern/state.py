"""What the log says about one group of a newer protocol: epochs, members, assignments.

A `ModernState` changes by replay only. There are two of each group: the image has what is
committed, and the group (`modern/group.py`) has what is decided, the *pending* state, which is
ahead of the image by the records in flight. Members and assignments are immutable, so both share
them.

Subclasses know the records of their protocol, and call the methods here.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Generic, Protocol, Self, TypeVar

from barnabas.groups.group_type import GroupType
from barnabas.groups.memory import PER_ASSIGNED_BYTES
from barnabas.groups.modern.assignment import NO_ASSIGNMENT, CurrentAssignment, Partitions
from barnabas.wire.message import Message


class ModernMember(Protocol):
    """What a member brought when it joined, as the record of its metadata has it."""

    @property
    def client_id(self) -> str: ...

    @property
    def client_host(self) -> str: ...

    @property
    def rack_id(self) -> str | None: ...

    @property
    def instance_id(self) -> str | None: ...

    @property
    def subscribed_topic_names(self) -> frozenset[str]: ...

    @property
    def size_bytes(self) -> int: ...


MemberT = TypeVar("MemberT", bound=ModernMember)


class ModernState(ABC, Generic[MemberT]):
    __slots__ = (
        "assignment_epoch",
        "assignment_time_ms",
        "current",
        "epoch",
        "members",
        "metadata_hash",
        "size_bytes",
        "subscribers",
        "targets",
    )

    group_type: ClassVar[GroupType]

    def __init__(self) -> None:
        self.epoch = 0
        """Grows when the target assignment has to change; 0 means that there is no group."""
        self.metadata_hash = 0
        """Of the subscribed topics, when the epoch began."""
        self.assignment_epoch = 0
        """The group epoch for which the target assignment was made."""
        self.assignment_time_ms = 0
        self.members: dict[str, MemberT] = {}
        self.targets: dict[str, Partitions] = {}
        self.current: dict[str, CurrentAssignment] = {}
        self.subscribers: Counter[str] = Counter()
        """How many members name a topic in their subscription."""
        self.size_bytes = 0
        """Approximate memory for what members brought, and for what they are assigned."""

    def __bool__(self) -> bool:
        """Whether the log has anything about the group."""
        return bool(
            self.epoch or self.assignment_epoch or self.members or self.targets or self.current
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ModernState)
            and self.group_type is other.group_type
            and self._persistent() == other._persistent()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._persistent()}"

    def _persistent(self) -> tuple[object, ...]:
        """Everything that comes from records; the rest follows from it."""
        return (
            self.epoch,
            self.metadata_hash,
            self.assignment_epoch,
            self.assignment_time_ms,
            self.members,
            self.targets,
            self.current,
        )

    def copy(self) -> Self:
        other = type(self)()
        other.epoch = self.epoch
        other.metadata_hash = self.metadata_hash
        other.assignment_epoch = self.assignment_epoch
        other.assignment_time_ms = self.assignment_time_ms
        other.members = dict(self.members)
        other.targets = dict(self.targets)
        other.current = dict(self.current)
        other.subscribers = Counter(self.subscribers)
        other.size_bytes = self.size_bytes
        return other

    @abstractmethod
    def replay(self, key: Message, value: Message | None) -> None:
        """Apply one record; without a value it is a tombstone."""

    # -- for subclasses ----------------------------------------------------------------------------

    def _put_epoch(self, epoch: int, metadata_hash: int) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash

    def _put_assignment_epoch(self, epoch: int, time_ms: int) -> None:
        self.assignment_epoch = epoch
        self.assignment_time_ms = time_ms

    def _put_member(self, member_id: str, member: MemberT | None) -> None:
        before = self.members.pop(member_id, None)
        if before is not None:
            self.size_bytes -= before.size_bytes
            self.subscribers.subtract(before.subscribed_topic_names)
            for name in before.subscribed_topic_names:
                if not self.subscribers[name]:
                    del self.subscribers[name]
        if member is not None:
            self.members[member_id] = member
            self.size_bytes += member.size_bytes
            self.subscribers.update(member.subscribed_topic_names)

    def _put_target(self, member_id: str, target: Partitions | None) -> None:
        change = _count(target) - _count(self.targets.get(member_id))
        self.size_bytes += PER_ASSIGNED_BYTES * change
        if target is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = target

    def _put_current(self, member_id: str, current: CurrentAssignment | None) -> None:
        if current is None:
            self.current.pop(member_id, None)
        else:
            self.current[member_id] = current

    # -- questions ---------------------------------------------------------------------------------

    def current_of(self, member_id: str) -> CurrentAssignment:
        return self.current.get(member_id, NO_ASSIGNMENT)

    def epoch_of(self, member_id: str) -> int:
        return self.current_of(member_id).member_epoch

    def topics_of(self, member: MemberT) -> frozenset[str]:
        """The names of all topics that the member is subscribed to, however it says so."""
        return member.subscribed_topic_names

    def subscribed_topics(self) -> Mapping[str, int]:
        """The names of all topics that a member is subscribed to."""
        return self.subscribers


def _count(target: Partitions | None) -> int:
    return 0 if target is None else sum(map(len, target.values()))
