"""A group of one of the newer protocols: its pending state, records in flight, sessions.

The coordinator makes the assignments, so members need not wait for each other: a heartbeat tells a
member its epoch and its assignment, and says which partitions it owns. Everything is persistent
but the deadlines.

A decision is made on `pending`, the state with everything that is decided; `propose` changes it at
once. If a record fails, `pending` is made again from the image and from what is still in flight.
An answer may depend on what is decided and not persisted yet, so every answer waits for the last
record in flight of its group (`answer`).
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

from barnabas.coordination.decision import CoordinatorDecision, HeldReply
from barnabas.groups.config import GroupConfig
from barnabas.groups.group import CommittedTopic, Committer, Group
from barnabas.groups.image import GroupsImage
from barnabas.groups.memory import PER_GROUP_BYTES, PER_MEMBER_BYTES
from barnabas.groups.modern.assignment import Partitions
from barnabas.groups.modern.assignor import Assignor
from barnabas.groups.modern.state import ModernMember, ModernState
from barnabas.groups.modern.topics import Topics, existing
from barnabas.groups.records import decode_record, modern_record
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Message, Response

StateT = TypeVar("StateT", bound=ModernState[Any])

KeyAndValue = tuple[Message, Message | None]

NOT_CHECKED = -1


class ModernGroup(Group, Generic[StateT]):
    __slots__ = (
        "checked_version",
        "in_flight",
        "pending",
        "rebalance_deadlines",
        "sessions",
        "topics",
    )

    state_class: ClassVar[type[ModernState[Any]]]

    def __init__(
        self,
        group_id: str,
        config: GroupConfig,
        images: GroupsImage,
        topics: Topics,
        in_flight: Iterable[CoordinatorDecision] = (),
    ) -> None:
        """`in_flight` are decisions about an earlier group of that id: until they are persisted,
        the image has what they delete."""
        super().__init__(group_id, config, images)
        self.topics = topics
        self.in_flight = deque(in_flight)
        """Decisions with records of this group that are neither persisted nor failed."""
        self.sessions: dict[str, int] = {}
        """When each member's session ends."""
        self.rebalance_deadlines: dict[str, int] = {}
        """Until when a member has to give up the partitions that are revoked from it."""
        self.checked_version = NOT_CHECKED
        """The version of the topics for which the metadata hash was compared last."""
        self.pending: StateT = self._decided()

    def _decided(self) -> StateT:
        """What is persisted, with what is in flight."""
        pending = self._persisted()
        for decision in self.in_flight:
            for record in decision.records:
                decoded = decode_record(record.key, record.value)
                if decoded is not None and decoded.group_id == self.group_id and decoded.is_modern:
                    pending.replay(decoded.key, decoded.value)
        return pending

    def _persisted(self) -> StateT:
        persisted = self.image.modern
        if persisted is None or persisted.group_type is not self.group_type:
            return self.state_class()  # type: ignore[return-value]
        return persisted.copy()  # type: ignore[return-value]

    # -- decisions ---------------------------------------------------------------------------------

    def propose(self, decision: CoordinatorDecision, *records: KeyAndValue) -> None:
        """Add records to the decision; the pending state has them from now on."""
        for key, value in records:
            if not self.in_flight or self.in_flight[-1] is not decision:
                self.in_flight.append(decision)
            self.pending.replay(key, value)
            decision.records.append(modern_record(key, value))

    def answer(
        self,
        decision: CoordinatorDecision,
        token: object,
        response: Response,
        failed: Callable[[ErrorCode], Response],
    ) -> None:
        """Reply once everything is persisted that the response may depend on."""
        if decision.records or not self.in_flight:
            decision.hold(token, committed=response, failed=failed)
        else:
            self.in_flight[-1].held.append(HeldReply(token, response, failed))

    def persisted(self, decision: CoordinatorDecision) -> None:
        """The decision's records are in the image."""
        self.in_flight = deque(other for other in self.in_flight if other is not decision)

    def failed(self, decision: CoordinatorDecision, now_ms: int) -> None:
        """The decision's records are lost: go back to what is persisted and in flight."""
        self.persisted(decision)
        self.pending = self._decided()
        self.checked_version = NOT_CHECKED
        self._restart_sessions(now_ms)

    # -- records of the protocol -------------------------------------------------------------------

    @abstractmethod
    def epoch_record(self, epoch: int, metadata_hash: int) -> KeyAndValue: ...

    @abstractmethod
    def assignment_epoch_record(self, epoch: int, time_ms: int) -> KeyAndValue: ...

    @abstractmethod
    def target_record(self, member_id: str, target: Partitions) -> KeyAndValue: ...

    @abstractmethod
    def member_tombstones(self, member_id: str) -> Iterable[KeyAndValue]:
        """Those of everything that there is about a member, its metadata last."""

    @abstractmethod
    def group_tombstones(self) -> Iterable[KeyAndValue]:
        """Those of everything that there is about a group without members."""

    # -- settings ----------------------------------------------------------------------------------

    @abstractmethod
    def assignor(self) -> Assignor:
        """The one that makes the next target assignment."""

    @property
    @abstractmethod
    def session_timeout_ms(self) -> int: ...

    @property
    @abstractmethod
    def assignment_interval_ms(self) -> int: ...

    # -- state -------------------------------------------------------------------------------------

    @property
    def member_count(self) -> int:
        return len(self.pending.members)

    @property
    def is_deleted(self) -> bool:
        return not self.pending and bool(self.in_flight)

    @property
    def is_empty(self) -> bool:
        return bool(self.pending) and not self.pending.members

    @property
    def is_void(self) -> bool:
        return not (self.pending or self.in_flight or self.pending_offsets or self.image)

    @property
    def is_being_joined(self) -> bool:
        return False

    @property
    def size_bytes(self) -> int:
        state = self.pending
        of_members = state.size_bytes + len(state.members) * PER_MEMBER_BYTES
        return PER_GROUP_BYTES + of_members + self.image.offsets.size_bytes

    def subscribed_topics(self) -> frozenset[str] | None:
        return frozenset(self.pending.subscribed_topics())

    def topics_in_use(self) -> frozenset[str] | None:
        return self.subscribed_topics()

    @property
    def may_lose_offsets(self) -> bool:
        return True

    @property
    def empty_since_ms(self) -> int | None:
        """When the last assignment was made, that of nothing to nobody (`target.remove_members`).

        In a log of an earlier release, which did not make it, the one of the last members.
        """
        return self.pending.assignment_time_ms if self.is_empty else None

    # -- committed offsets -------------------------------------------------------------------------

    @abstractmethod
    def check_commit(self, committer: Committer, topics: Iterable[CommittedTopic]) -> ErrorCode: ...

    def committing(self, member_id: str, error: ErrorCode, now_ms: int) -> None:
        """A commit is no sign that the member follows its assignment, so its session goes on."""

    # -- deletion ----------------------------------------------------------------------------------

    def persist_empty(self, decision: CoordinatorDecision, now_ms: int) -> None:
        """The record of the group epoch keeps it."""

    def delete(self, decision: CoordinatorDecision) -> None:
        self.propose(decision, *self.group_tombstones())

    # -- time --------------------------------------------------------------------------------------

    def restore(self, now_ms: int) -> None:
        self.retention_check_ms = now_ms + self.config.offsets_retention_check_interval_ms
        self.pending = self._persisted()
        self._restart_sessions(now_ms)

    def _restart_sessions(self, now_ms: int) -> None:
        """Give a session to each member that has none."""
        members = self.pending.members
        self.sessions = {
            member_id: self.sessions.get(member_id, now_ms + self.session_timeout_of(member_id))
            for member_id in members
        }
        self.rebalance_deadlines = {
            member_id: self.rebalance_deadlines.get(member_id, deadline_ms)
            for member_id, deadline_ms in self._rebalance_deadlines(now_ms)
        }

    def _rebalance_deadlines(self, _now_ms: int) -> Iterator[tuple[str, int]]:
        """The members that have to give up partitions, each with a new deadline."""
        return iter(())

    def session_timeout_of(self, _member_id: str) -> int:
        return self.session_timeout_ms

    def touch(self, member_id: str, now_ms: int) -> None:
        """Restart the member's session."""
        self.sessions[member_id] = now_ms + self.session_timeout_of(member_id)

    def forget_member(self, member_id: str) -> None:
        """A member is gone: drop its deadlines."""
        self.sessions.pop(member_id, None)
        self.rebalance_deadlines.pop(member_id, None)

    def next_deadline_ms(self) -> int | None:
        return min(self._deadlines(), default=None)

    def _deadlines(self) -> Iterator[int]:
        yield from self.sessions.values()
        yield from self.rebalance_deadlines.values()
        if self.retention_check_ms is not None:
            yield self.retention_check_ms

    def members_due(self, now_ms: int) -> list[str]:
        """Members whose session has ended, or who have not given up partitions in time."""
        due = [each for each, deadline_ms in self.sessions.items() if deadline_ms <= now_ms]
        late = [
            member_id
            for member_id, deadline_ms in self.rebalance_deadlines.items()
            if deadline_ms <= now_ms
        ]
        return list(dict.fromkeys(due + late))


def topic_ids_of(group: ModernGroup[StateT], member: ModernMember) -> frozenset[bytes]:
    """Ids of the existing topics that the member is subscribed to."""
    names = group.pending.topics_of(member)
    return frozenset(topic.topic_id for topic in existing(names, group.topics))
