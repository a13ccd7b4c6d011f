"""A consumer group: the protocol of Kafka 4, in which the coordinator makes the assignments."""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.assignors import CONSUMER_ASSIGNORS
from barnabas.groups.config import GroupConfig
from barnabas.groups.consumer.member import ConsumerMember
from barnabas.groups.consumer.state import ConsumerState, ResolvedRegex, current_to_record
from barnabas.groups.group import CommittedTopic, Committer
from barnabas.groups.group_type import GroupType
from barnabas.groups.image import GroupsImage
from barnabas.groups.modern.assignment import CurrentAssignment, MemberState, Partitions
from barnabas.groups.modern.assignor import Assignor
from barnabas.groups.modern.group import NOT_CHECKED, KeyAndValue, ModernGroup
from barnabas.groups.modern.topics import Topics
from barnabas.groups.names import check_group_id
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TargetTopicPartitions,
)

LEAVE_EPOCH = -1
"""A member that leaves says so in place of its epoch."""

STATIC_LEAVE_EPOCH = -2
"""A static member that leaves for a while: its partitions stay with its instance id."""


class ConsumerGroupState(StrEnum):
    """The state of a consumer group, as in ListGroups; it follows from epochs."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """The group epoch is newer than the target assignment."""
    RECONCILING = "Reconciling"
    """Not every member has its target assignment."""
    STABLE = "Stable"
    DEAD = "Dead"


class ConsumerGroup(ModernGroup[ConsumerState]):
    __slots__ = ("is_resolving", "resolved_ms", "resolved_version", "told")

    group_type = GroupType.CONSUMER
    state_class = ConsumerState

    def __init__(
        self,
        group_id: str,
        config: GroupConfig,
        images: GroupsImage,
        topics: Topics,
        in_flight: Iterable[CoordinatorDecision] = (),
    ) -> None:
        super().__init__(group_id, config, images, topics, in_flight)
        self.told: set[str] = set()
        """The members that were told their assignment, here and not by an earlier coordinator."""
        self.is_resolving = False
        """Whether a job is looking for the topics of regular expressions."""
        self.resolved_ms = 0
        self.resolved_version = NOT_CHECKED
        """The version of the topics for which that was done last."""

    def failed(self, decision: CoordinatorDecision, now_ms: int) -> None:
        super().failed(decision, now_ms)
        self.told.clear()  # some of the answers have failed

    def forget_member(self, member_id: str) -> None:
        super().forget_member(member_id)
        self.told.discard(member_id)

    # -- records -----------------------------------------------------------------------------------

    def epoch_record(self, epoch: int, metadata_hash: int) -> KeyAndValue:
        key = ConsumerGroupMetadataKey(self.group_id)
        return key, ConsumerGroupMetadataValue(epoch, metadata_hash)

    def assignment_epoch_record(self, epoch: int, time_ms: int) -> KeyAndValue:
        key = ConsumerGroupTargetAssignmentMetadataKey(self.group_id)
        return key, ConsumerGroupTargetAssignmentMetadataValue(epoch, time_ms)

    def target_record(self, member_id: str, target: Partitions) -> KeyAndValue:
        topics = [
            TargetTopicPartitions(topic_id, sorted(indexes))
            for topic_id, indexes in sorted(target.items())
        ]
        key = ConsumerGroupTargetAssignmentMemberKey(self.group_id, member_id)
        return key, ConsumerGroupTargetAssignmentMemberValue(topics)

    def member_record(self, member_id: str, member: ConsumerMember) -> KeyAndValue:
        return ConsumerGroupMemberMetadataKey(self.group_id, member_id), member.to_record()

    def current_record(self, member_id: str, current: CurrentAssignment) -> KeyAndValue:
        key = ConsumerGroupCurrentMemberAssignmentKey(self.group_id, member_id)
        return key, current_to_record(current)

    def regex_record(self, regex: str, resolved: ResolvedRegex) -> KeyAndValue:
        key = ConsumerGroupRegularExpressionKey(self.group_id, regex)
        return key, ConsumerGroupRegularExpressionValue(
            sorted(resolved.topics), resolved.version, resolved.time_ms
        )

    def regex_tombstone(self, regex: str) -> KeyAndValue:
        return ConsumerGroupRegularExpressionKey(self.group_id, regex), None

    def member_tombstones(self, member_id: str) -> Iterable[KeyAndValue]:
        state = self.pending
        if member_id in state.current:
            yield ConsumerGroupCurrentMemberAssignmentKey(self.group_id, member_id), None
        if member_id in state.targets:
            yield ConsumerGroupTargetAssignmentMemberKey(self.group_id, member_id), None
        regex = state.members[member_id].subscribed_topic_regex
        yield ConsumerGroupMemberMetadataKey(self.group_id, member_id), None
        if regex and regex in state.regexes and state.regex_subscribers[regex] == 1:
            yield self.regex_tombstone(regex)

    def group_tombstones(self) -> Iterable[KeyAndValue]:
        yield from map(self.regex_tombstone, list(self.pending.regexes))
        for member_id in list(self.pending.targets):
            yield ConsumerGroupTargetAssignmentMemberKey(self.group_id, member_id), None
        for member_id in list(self.pending.current):
            yield ConsumerGroupCurrentMemberAssignmentKey(self.group_id, member_id), None
        if self.pending.assignment_epoch:
            yield ConsumerGroupTargetAssignmentMetadataKey(self.group_id), None
        yield ConsumerGroupMetadataKey(self.group_id), None

    # -- settings ----------------------------------------------------------------------------------

    def assignor(self) -> Assignor:
        return CONSUMER_ASSIGNORS[self.assignor_name()]

    def assignor_name(self) -> str:
        """The assignor that most members ask for; the first of the settings if none do."""
        asked = Counter(
            member.server_assignor
            for member in self.pending.members.values()
            if member.server_assignor in self.config.consumer.assignors
        )
        most = asked.most_common(1)
        return self.config.consumer.assignors[0] if not most or not most[0][0] else most[0][0]

    @property
    def session_timeout_ms(self) -> int:
        return self.config.consumer_settings(self.group_id).session_timeout_ms

    @property
    def assignment_interval_ms(self) -> int:
        return self.config.consumer_settings(self.group_id).assignment_interval_ms

    @property
    def heartbeat_interval_ms(self) -> int:
        return self.config.consumer_settings(self.group_id).heartbeat_interval_ms

    def session_timeout_of(self, member_id: str) -> int:
        classic = self.pending.members[member_id].classic
        return self.session_timeout_ms if classic is None else classic.session_timeout_ms

    # -- state -------------------------------------------------------------------------------------

    @property
    def protocol_type(self) -> str | None:
        return "consumer"

    @property
    def state_name(self) -> str:
        """That of the image: what is not persisted must not be seen."""
        image = self.image.modern
        return state_of(image) if isinstance(image, ConsumerState) else ConsumerGroupState.EMPTY

    def _rebalance_deadlines(self, now_ms: int) -> Iterator[tuple[str, int]]:
        for member_id, member in self.pending.members.items():
            current = self.pending.current_of(member_id)
            if current.state is MemberState.UNREVOKED_PARTITIONS:
                yield member_id, now_ms + member.rebalance_timeout_ms

    # -- committed offsets -------------------------------------------------------------------------

    def check_commit(self, committer: Committer, topics: Iterable[CommittedTopic]) -> ErrorCode:
        if self.is_deleted or self.is_empty:
            if committer.generation_id < 0:
                return check_group_id(self.group_id)
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = self._check_committer(committer, topics)
        member = self.pending.members.get(committer.member_id)
        if error is ErrorCode.NONE and member is not None and member.classic is None:
            # Older clients do not know the error codes of epochs.
            return ErrorCode.NONE if committer.uses_epochs else ErrorCode.UNSUPPORTED_VERSION
        return error

    def check_txn_commit(self, committer: Committer, topics: Iterable[CommittedTopic]) -> ErrorCode:
        member_id, instance_id, epoch, _ = committer
        if epoch < 0 and (self.is_empty or self.is_deleted):
            return check_group_id(self.group_id)
        if epoch < 0 and not member_id and instance_id is None:
            return ErrorCode.NONE
        return self._check_committer(committer, topics)

    def _check_committer(self, committer: Committer, topics: Iterable[CommittedTopic]) -> ErrorCode:
        """Whether the member is in that epoch, or had all of the partitions in it already."""
        member = self.pending.members.get(committer.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        current = self.pending.current_of(committer.member_id)
        epoch = committer.generation_id
        if epoch == current.member_epoch:
            return ErrorCode.NONE
        if epoch < current.member_epoch and self._had_all(current, epoch, topics):
            return ErrorCode.NONE
        is_classic = member.classic is not None
        return ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH

    def _had_all(
        self, current: CurrentAssignment, epoch: int, topics: Iterable[CommittedTopic]
    ) -> bool:
        for topic in topics:
            metadata = self.topics.by_name(topic.name)
            for partition in topic.partitions:
                since = None
                if metadata is not None:
                    since = current.epoch_of(metadata.topic_id, partition.partition_index)
                if since is None or since > epoch:
                    return False
        return True

    def check_fetch(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Judged by the image, as everything that is only read."""
        if not member_id and member_epoch < 0:
            return ErrorCode.NONE
        image = self.image.modern
        if image is None or member_id not in image.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if image.epoch_of(member_id) == member_epoch:
            return ErrorCode.NONE
        is_classic = image.members[member_id].classic is not None
        return ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH


def state_of(state: ConsumerState) -> ConsumerGroupState:
    if not state.members:
        return ConsumerGroupState.EMPTY
    if state.epoch > state.assignment_epoch:
        return ConsumerGroupState.ASSIGNING
    for member_id in state.members:
        current = state.current_of(member_id)
        if current.state is not MemberState.STABLE or (
            current.member_epoch != state.assignment_epoch
        ):
            return ConsumerGroupState.RECONCILING
    return ConsumerGroupState.STABLE
