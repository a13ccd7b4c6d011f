"""The soft state of one classic group: members, rebalance, parked requests, deadlines.

What is persistent is `image`, the last completed generation and the committed offsets; it changes
only when a committed record is replayed. Everything in a `ClassicGroup` itself is soft: requests
and deadlines change it at once, and a restart takes the group back to its image.

Invariants: `joining` is not empty only in PREPARING_REBALANCE, `syncing` only in
COMPLETING_REBALANCE; both name members only. `leader_id` is a member, or None when there is none.
A member id is never in `members` and `pending_members` at once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from barnabas.coordination.decision import CoordinatorDecision, CoordinatorRecord
from barnabas.groups.classic.member import Member
from barnabas.groups.classic.state import GroupState, check_transition
from barnabas.groups.classic.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from barnabas.groups.config import GroupConfig
from barnabas.groups.group import CommittedTopic, Committer, Group
from barnabas.groups.group_type import GroupType
from barnabas.groups.image import GroupsImage
from barnabas.groups.memory import PER_GROUP_BYTES, PER_MEMBER_BYTES
from barnabas.groups.names import check_group_id
from barnabas.groups.records import group_record
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.group_records import GroupMetadataValue

_KEEPS_SESSION = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


class ClassicGroup(Group):
    __slots__ = (
        "_protocol_type",
        "_state",
        "awaited_syncs",
        "generation_id",
        "initial_delay_left_ms",
        "join_deadline_ms",
        "joining",
        "leader_id",
        "members",
        "metadata_bytes",
        "newcomers",
        "pending_members",
        "protocol_name",
        "records_in_flight",
        "state_since_ms",
        "static_members",
        "supporters",
        "sync_deadline_ms",
        "syncing",
    )

    group_type = GroupType.CLASSIC

    def __init__(self, group_id: str, config: GroupConfig, images: GroupsImage) -> None:
        super().__init__(group_id, config, images)
        self.metadata_bytes = 0
        """Size of the metadata that members sent."""
        self.records_in_flight: list[CoordinatorRecord] = []
        """Generations, and a deletion, that were proposed and are neither persisted nor failed."""

        self._state = GroupState.EMPTY
        self.state_since_ms = -1
        self.generation_id = 0
        self._protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None

        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        """Member id by group instance id."""
        self.supporters: Counter[str] = Counter()
        """How many members support each protocol."""
        self.pending_members: dict[str, int] = {}
        """When each member id expires that was given out and has not joined yet."""

        self.joining: dict[str, object] = {}
        """Tokens of parked joins, by member id."""
        self.syncing: dict[str, object] = {}
        """Tokens of parked syncs, by member id."""
        self.awaited_syncs: set[str] = set()
        """Members of this generation that have not sent a sync yet."""

        self.join_deadline_ms: int | None = None
        self.sync_deadline_ms: int | None = None
        self.initial_delay_left_ms: int | None = None
        """In the first rebalance of an empty group: how much longer the delay may be extended."""
        self.newcomers = False
        """Whether a member arrived since the initial delay was last extended."""

    @property
    def protocol_type(self) -> str | None:
        return self._protocol_type

    @property
    def state(self) -> GroupState:
        return self._state

    def transition_to(self, state: GroupState) -> None:
        """Raises `IllegalTransition` unless the table of transitions has it."""
        check_transition(self.group_id, self._state, state)
        self._state = state

    @property
    def state_name(self) -> str:
        return self._state

    @property
    def member_count(self) -> int:
        return len(self.members)

    @property
    def is_deleted(self) -> bool:
        return self._state is GroupState.DEAD

    @property
    def is_empty(self) -> bool:
        return self._state is GroupState.EMPTY

    @property
    def empty_since_ms(self) -> int | None:
        is_former = self.is_empty and self._protocol_type is not None
        return self.state_since_ms if is_former else None

    # -- members -----------------------------------------------------------------------------------

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self._protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self.metadata_bytes += bytes_of(member.protocols)
        self.supporters.update(member.protocols.keys())
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id

    def remove(self, member_id: str) -> Member:
        """The member's parked requests must be answered before."""
        member = self.members.pop(member_id)
        self.metadata_bytes -= bytes_of(member.protocols)
        self._withdraw_support(member)
        self.awaited_syncs.discard(member_id)
        if member.group_instance_id is not None:
            del self.static_members[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        return member

    def change_protocols(self, member: Member, protocols: dict[str, bytes]) -> None:
        self._withdraw_support(member)
        self.metadata_bytes += bytes_of(protocols) - bytes_of(member.protocols)
        member.protocols = protocols
        self.supporters.update(protocols.keys())

    def _withdraw_support(self, member: Member) -> None:
        self.supporters.subtract(member.protocols.keys())
        for name in member.protocols:
            if not self.supporters[name]:
                del self.supporters[name]

    def check_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Whether it is a member, and not a static member that was replaced."""
        if group_instance_id is not None:
            holder = self.static_members.get(group_instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def check_member_of_generation(
        self, member_id: str, group_instance_id: str | None, generation_id: int
    ) -> ErrorCode:
        if self.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = self.check_member(member_id, group_instance_id)
        if error is ErrorCode.NONE and generation_id != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        return error

    def touch(self, member_id: str, now_ms: int) -> None:
        """Restart the member's session; a member with a parked request has no session deadline."""
        if member_id not in self.joining and member_id not in self.syncing:
            self.members[member_id].touch(now_ms)

    @property
    def has_all_joined(self) -> bool:
        return len(self.joining) == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of all members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def size_bytes(self) -> int:
        """Approximate memory for the group, its members and its offsets."""
        count = len(self.members) + len(self.pending_members)
        of_members = self.metadata_bytes + self.image.metadata_bytes + count * PER_MEMBER_BYTES
        return PER_GROUP_BYTES + of_members + self.image.offsets.size_bytes

    # -- protocols ---------------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: Mapping[str, bytes]) -> bool:
        """Whether a client that offers these protocols can be a member."""
        if not protocol_type or not protocols:
            return False
        if not self.members:
            return True
        size = len(self.members)
        return protocol_type == self.protocol_type and any(
            self.supporters[name] == size for name in protocols
        )

    def select_protocol(self) -> str:
        """Every member votes among the protocols all support; a tie goes to the oldest member."""
        size = len(self.members)
        candidates = {name for name, count in self.supporters.items() if count == size}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics that consumers of the group are subscribed to; None if not known."""
        if not self.members:
            return frozenset()
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            for metadata in member.protocols.values():
                subscribed = subscribed_topics(metadata)
                if subscribed is None:
                    return None
                topics |= subscribed
        return frozenset(topics)

    # -- committed offsets -------------------------------------------------------------------------

    @property
    def may_lose_offsets(self) -> bool:
        return not self.members or self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def topics_in_use(self) -> frozenset[str] | None:
        """While a group rebalances, its subscription is not known."""
        if self.state in (GroupState.EMPTY, GroupState.STABLE):
            return self.subscribed_topics()
        return None

    @property
    def is_being_joined(self) -> bool:
        return bool(self.pending_members)

    def check_commit(self, committer: Committer, _topics: Iterable[CommittedTopic]) -> ErrorCode:
        """Members may commit except between join and sync, when they do not know their assignment
        yet."""
        generation_id = committer.generation_id
        if self.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if generation_id >= 0 and self.is_void:
            return ErrorCode.ILLEGAL_GENERATION
        if generation_id < 0 and self.state is GroupState.EMPTY:
            return check_group_id(self.group_id)
        error = self.check_member_of_generation(
            committer.member_id, committer.group_instance_id, generation_id
        )
        if error is ErrorCode.NONE and self.state is GroupState.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return error

    def check_txn_commit(
        self, committer: Committer, _topics: Iterable[CommittedTopic]
    ) -> ErrorCode:
        member_id, instance_id, generation_id, _ = committer
        if not self.group_id:
            return ErrorCode.INVALID_GROUP_ID
        if self.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if generation_id >= 0 and self.is_void:
            return ErrorCode.ILLEGAL_GENERATION
        if generation_id < 0 and self.state is GroupState.EMPTY:
            return check_group_id(self.group_id)
        if generation_id >= 0 or member_id or instance_id is not None:
            return self.check_member_of_generation(member_id, instance_id, generation_id)
        return ErrorCode.NONE

    def check_fetch(self, _member_id: str | None, _member_epoch: int) -> ErrorCode:
        return ErrorCode.NONE

    def committing(self, member_id: str, error: ErrorCode, now_ms: int) -> None:
        if member_id in self.members and error in _KEEPS_SESSION:
            self.touch(member_id, now_ms)

    # -- what is persisted -------------------------------------------------------------------------

    def propose_generation(
        self, assignments: Mapping[str, bytes], now_ms: int
    ) -> CoordinatorRecord:
        """The record that makes this generation the image; `settled` must follow."""
        return self._proposed(group_record(self.group_id, self.snapshot(assignments, now_ms)))

    def _proposed(self, record: CoordinatorRecord) -> CoordinatorRecord:
        self.records_in_flight.append(record)
        return record

    def settled(self, record: CoordinatorRecord) -> bool:
        """A record was persisted or has failed; returns whether this group has proposed it.

        Another group of the same id may have: one that this one has replaced, or that has replaced
        this one.
        """
        before = len(self.records_in_flight)
        self.records_in_flight = [each for each in self.records_in_flight if each is not record]
        return len(self.records_in_flight) < before

    def snapshot(self, assignments: Mapping[str, bytes], now_ms: int) -> GroupMetadataValue:
        """This generation as it is stored."""
        protocol_name = self.protocol_name
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation_id,
            protocol=protocol_name,
            leader=self.leader_id,
            current_state_timestamp=now_ms,
            members=[
                member.to_record(protocol_name, assignments.get(member.member_id, b""))
                for member in self.members.values()
                if protocol_name is not None
            ],
        )

    def persist_empty(self, decision: CoordinatorDecision, now_ms: int) -> None:
        has_record = self.image.metadata is not None or self.records_in_flight
        if self.state is GroupState.EMPTY and not has_record:
            decision.records.append(self.propose_generation({}, now_ms))

    def delete(self, decision: CoordinatorDecision) -> None:
        """The group is DEAD until its tombstones are persisted, and refuses all requests."""
        self.transition_to(GroupState.DEAD)
        decision.records.append(self._proposed(group_record(self.group_id, None)))

    def go_on_from(self, generation_id: int, now_ms: int) -> None:
        """The group was of another kind; its members are added, and have their assignments."""
        self.generation_id = generation_id
        self.state_since_ms = now_ms
        self.protocol_name = self.select_protocol()
        self.retention_check_ms = now_ms + self.config.offsets_retention_check_interval_ms
        self._state = GroupState.STABLE

    def restore(self, now_ms: int) -> None:
        self.retention_check_ms = now_ms + self.config.offsets_retention_check_interval_ms
        image = self.image.metadata
        if image is None:
            return
        self.generation_id = image.generation
        self.state_since_ms = image.current_state_timestamp
        self._protocol_type = image.protocol_type or None
        self.protocol_name = image.protocol
        for record in image.members:
            member = Member.from_record(record, image.protocol or "")
            member.touch(now_ms)
            self.add(member, image.protocol_type)
        if self.members:
            self._state = GroupState.STABLE
            if image.leader in self.members:
                self.leader_id = image.leader

    @property
    def is_void(self) -> bool:
        """Whether nothing would be lost if the group were forgotten.

        A group with a record in flight must not be forgotten: a new group of the same id would
        count generations from the start, and take the record for its own.
        """
        return (
            self.state is GroupState.EMPTY
            and not self.records_in_flight
            and not self.pending_members
            and not self.pending_offsets
            and not self.image
        )

    # -- time --------------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        return min(self._deadlines(), default=None)

    def _deadlines(self) -> Iterator[int]:
        yield from self.pending_members.values()
        for member in self.members.values():
            if member.deadline_ms is not None:
                yield member.deadline_ms
        for deadline_ms in (self.join_deadline_ms, self.sync_deadline_ms, self.retention_check_ms):
            if deadline_ms is not None:
                yield deadline_ms


def bytes_of(protocols: Mapping[str, bytes]) -> int:
    """Size of a member's metadata, for all protocols that it supports."""
    return sum(len(name) + len(metadata) for name, metadata in protocols.items())
