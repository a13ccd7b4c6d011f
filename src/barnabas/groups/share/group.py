"""A share group: its members read the same partitions, each record by one of them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from barnabas.groups.assignors.simple import SimpleAssignor
from barnabas.groups.group import CommittedTopic, Committer
from barnabas.groups.group_type import GroupType
from barnabas.groups.modern.assignment import CurrentAssignment, Partitions
from barnabas.groups.modern.assignor import Assignor, GroupSpec
from barnabas.groups.modern.group import KeyAndValue, ModernGroup
from barnabas.groups.share.member import ShareMember
from barnabas.groups.share.state import ShareGroupImage, StatePartitions, current_to_record
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicPartition,
)

_SIMPLE = SimpleAssignor()


class ShareGroupState(StrEnum):
    """As in ListGroups."""

    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"


class _AssignsInitialized:
    """The simple assignor, for partitions that have a state at a share coordinator."""

    name = _SIMPLE.name

    def __init__(self, states: StatePartitions) -> None:
        self._states = states

    def assign(self, group: GroupSpec) -> dict[str, Partitions]:
        assignable: Mapping[bytes, frozenset[int]] = {
            topic_id: frozenset(index for index in self._states.indexes(topic_id) if index < count)
            for topic_id, count in group.partition_counts.items()
        }
        return _SIMPLE.assign_partitions(group, assignable)


class ShareGroup(ModernGroup[ShareGroupImage]):
    __slots__ = ()

    group_type = GroupType.SHARE
    state_class = ShareGroupImage

    # -- records -----------------------------------------------------------------------------------

    def epoch_record(self, epoch: int, metadata_hash: int) -> KeyAndValue:
        return ShareGroupMetadataKey(self.group_id), ShareGroupMetadataValue(epoch, metadata_hash)

    def assignment_epoch_record(self, epoch: int, time_ms: int) -> KeyAndValue:
        key = ShareGroupTargetAssignmentMetadataKey(self.group_id)
        return key, ShareGroupTargetAssignmentMetadataValue(epoch, time_ms)

    def target_record(self, member_id: str, target: Partitions) -> KeyAndValue:
        topics = [
            TopicPartition(topic_id, sorted(indexes))
            for topic_id, indexes in sorted(target.items())
        ]
        key = ShareGroupTargetAssignmentMemberKey(self.group_id, member_id)
        return key, ShareGroupTargetAssignmentMemberValue(topics)

    def member_record(self, member_id: str, member: ShareMember) -> KeyAndValue:
        return ShareGroupMemberMetadataKey(self.group_id, member_id), member.to_record()

    def current_record(self, member_id: str, current: CurrentAssignment) -> KeyAndValue:
        key = ShareGroupCurrentMemberAssignmentKey(self.group_id, member_id)
        return key, current_to_record(current)

    def states_record(self, states: StatePartitions) -> KeyAndValue:
        key = ShareGroupStatePartitionMetadataKey(self.group_id)
        return key, states.to_record() if states else None

    def member_tombstones(self, member_id: str) -> Iterable[KeyAndValue]:
        if member_id in self.pending.current:
            yield ShareGroupCurrentMemberAssignmentKey(self.group_id, member_id), None
        if member_id in self.pending.targets:
            yield ShareGroupTargetAssignmentMemberKey(self.group_id, member_id), None
        yield ShareGroupMemberMetadataKey(self.group_id, member_id), None

    def group_tombstones(self) -> Iterable[KeyAndValue]:
        for member_id in list(self.pending.targets):
            yield ShareGroupTargetAssignmentMemberKey(self.group_id, member_id), None
        for member_id in list(self.pending.current):
            yield ShareGroupCurrentMemberAssignmentKey(self.group_id, member_id), None
        if self.pending.assignment_epoch:
            yield ShareGroupTargetAssignmentMetadataKey(self.group_id), None
        if self.pending.states:
            yield ShareGroupStatePartitionMetadataKey(self.group_id), None
        yield ShareGroupMetadataKey(self.group_id), None

    # -- settings ----------------------------------------------------------------------------------

    def assignor(self) -> Assignor:
        return _AssignsInitialized(self.pending.states)

    def assignor_name(self) -> str:
        return _SIMPLE.name

    @property
    def session_timeout_ms(self) -> int:
        return self.config.share_settings(self.group_id).session_timeout_ms

    @property
    def assignment_interval_ms(self) -> int:
        """A target assignment without partitions is replaced at once: the first ones got their
        state."""
        if not any(self.pending.targets.values()):
            return 0
        return self.config.share_settings(self.group_id).assignment_interval_ms

    @property
    def heartbeat_interval_ms(self) -> int:
        return self.config.share_settings(self.group_id).heartbeat_interval_ms

    # -- state -------------------------------------------------------------------------------------

    @property
    def protocol_type(self) -> str | None:
        return "share"

    @property
    def state_name(self) -> str:
        """That of the image: what is not persisted must not be seen."""
        image = self.image.modern
        has_members = isinstance(image, ShareGroupImage) and bool(image.members)
        return ShareGroupState.STABLE if has_members else ShareGroupState.EMPTY

    # -- committed offsets -------------------------------------------------------------------------

    def topics_in_use(self) -> frozenset[str] | None:
        """All: a share group does not expire, as its states are elsewhere."""
        return None

    @property
    def may_lose_offsets(self) -> bool:
        return False

    def check_commit(self, _committer: Committer, _topics: Iterable[CommittedTopic]) -> ErrorCode:
        """Share groups commit no offsets."""
        return ErrorCode.GROUP_ID_NOT_FOUND

    def check_txn_commit(
        self, _committer: Committer, _topics: Iterable[CommittedTopic]
    ) -> ErrorCode:
        return ErrorCode.GROUP_ID_NOT_FOUND

    def check_fetch(self, _member_id: str | None, _member_epoch: int) -> ErrorCode:
        return ErrorCode.GROUP_ID_NOT_FOUND
