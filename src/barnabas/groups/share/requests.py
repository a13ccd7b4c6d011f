"""The requests of share groups, for the groups of one shard."""

from collections.abc import Callable, Collection

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.group import Group
from barnabas.groups.group_registry import GroupRegistry, replace_empty_group
from barnabas.groups.memory import (
    PER_GROUP_BYTES,
    PER_MEMBER_BYTES,
    PER_SHARE_STATE_BYTES,
    GroupMemory,
)
from barnabas.groups.modern.refusal import RefusedHeartbeat, check_room
from barnabas.groups.modern.target import remove_members
from barnabas.groups.modern.topics import existing
from barnabas.groups.share import describe, share_states
from barnabas.groups.share.group import ShareGroup
from barnabas.groups.share.heartbeat import (
    LEAVE_EPOCH,
    ShareHeartbeat,
    check,
    check_request,
    failed,
    heartbeat,
    leave,
    refused,
)
from barnabas.groups.share.state import TopicStates
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_group_describe import DescribedGroup
from barnabas.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


class ShareRequests:
    __slots__ = ("_groups", "_memory")

    def __init__(self, groups: GroupRegistry, memory: GroupMemory) -> None:
        self._groups = groups
        self._memory = memory

    def _share_group(self, group_id: str) -> ShareGroup | None:
        found = self._groups.get(group_id)
        return found if isinstance(found, ShareGroup) and not found.is_deleted else None

    # -- members -----------------------------------------------------------------------------------

    def heartbeat(
        self,
        request: ShareGroupHeartbeatRequest,
        *,
        token: object,
        client_id: str,
        client_host: str,
        now_ms: int,
    ) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        it = ShareHeartbeat(request, token, client_id, client_host)
        try:
            check_request(request)
            found, group = self._find(request)
            check(group, request, self._groups.config.share.max_size)
            if request.member_epoch != LEAVE_EPOCH:
                self._check_room(group, request)
        except RefusedHeartbeat as refusal:
            decision.reply(token, refused(refusal))
            return decision
        if found is not None and found is not group:
            replace_empty_group(found, group, decision)
        if request.member_epoch == LEAVE_EPOCH:
            leave(group, it, decision, now_ms)
        else:
            heartbeat(group, it, decision, now_ms)
        if decision.records:
            self._groups.settle(group)
        return decision

    def _find(self, request: ShareGroupHeartbeatRequest) -> tuple[Group | None, ShareGroup]:
        """The group of that id, and the share group: a new one, if a member joins and there is
        none. Raises `RefusedHeartbeat`."""
        group_id = request.group_id
        found = self._groups.get(group_id)
        if found is not None and found.is_deleted:
            raise RefusedHeartbeat(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, f"Group {group_id} is being deleted."
            )
        if isinstance(found, ShareGroup):
            return found, found
        if request.member_epoch != 0 or found is not None:
            known = "not found" if found is None else "is not a share group"
            raise RefusedHeartbeat(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {known}.")
        return None, self._groups.new_share_group(group_id)

    def _check_room(self, group: ShareGroup, request: ShareGroupHeartbeatRequest) -> None:
        """Raises `RefusedHeartbeat`."""
        names = request.subscribed_topic_names or ()
        states = group.pending.states
        more = PER_SHARE_STATE_BYTES * sum(
            max(0, topic.partition_count - len(states.indexes(topic.topic_id)))
            for topic in existing(frozenset(names), group.topics)
        )
        if request.member_id not in group.pending.members:
            more += PER_MEMBER_BYTES + (PER_GROUP_BYTES if group.is_void else 0)
        check_room(self._memory, names, more)

    def expire_members(self, group: ShareGroup, decision: CoordinatorDecision, now_ms: int) -> None:
        due = group.members_due(now_ms)
        if due:
            remove_members(group, due, decision, now_ms)

    def disconnected(self, group_id: str, member_id: str, now_ms: int) -> CoordinatorDecision:
        """The member's connection broke, and it did not come back: remove it, if it is one."""
        decision = CoordinatorDecision()
        group = self._share_group(group_id)
        if group is not None and member_id in group.pending.members:
            remove_members(group, [member_id], decision, now_ms)
            self._groups.settle(group)
        return decision

    def describe(self, group_id: str) -> DescribedGroup:
        return describe.describe(group_id, self._groups.get(group_id), self._groups.topics)

    # -- states at share coordinators --------------------------------------------------------------

    def check_empty(self, group_id: str) -> ErrorCode:
        """Whether an operator may change the group's start offsets."""
        group = self._share_group(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if group.is_empty else ErrorCode.NON_EMPTY_GROUP

    def is_share_group(self, group_id: str) -> bool:
        return self._share_group(group_id) is not None

    def missing_states(self, group_id: str) -> TopicStates:
        """Partitions of subscribed topics that have no state yet."""
        group = self._share_group(group_id)
        return share_states.NO_TOPICS if group is None else share_states.missing(group)

    def initialized_states(self, group_id: str) -> TopicStates:
        """Partitions that have a state, and may be assigned."""
        group = self._share_group(group_id)
        return share_states.NO_TOPICS if group is None else group.pending.states.initialized

    def known_states(self, group_id: str) -> TopicStates:
        """Partitions that have a state, or may have one."""
        group = self._share_group(group_id)
        return share_states.NO_TOPICS if group is None else share_states.known(group)

    def begin_states(
        self, group_id: str, topics: TopicStates, *, token: object
    ) -> CoordinatorDecision:
        """Replies with a ShareGroupHeartbeatResponse, of which only the error counts."""
        count = sum(len(partitions.indexes) for partitions in topics.values())
        if not self._memory.has_room_for(PER_SHARE_STATE_BYTES * count):
            decision = CoordinatorDecision()
            decision.reply(token, failed(ErrorCode.GROUP_MAX_SIZE_REACHED))
            return decision
        return self._change(
            group_id, token, lambda group, it: share_states.begin(group, topics, it)
        )

    def states_began(
        self, group_id: str, topics: TopicStates, *, token: object
    ) -> CoordinatorDecision:
        """As `begin_states`."""
        return self._change(
            group_id, token, lambda group, it: share_states.began(group, topics, it)
        )

    def states_deleted(
        self, group_id: str, topic_ids: Collection[bytes], *, token: object
    ) -> CoordinatorDecision:
        """As `begin_states`."""
        return self._change(
            group_id, token, lambda group, it: share_states.deleted(group, topic_ids, it)
        )

    def topics_deleted(
        self,
        group: ShareGroup,
        names: Collection[str],
        topic_ids: Collection[bytes] | None,
        decision: CoordinatorDecision,
    ) -> None:
        if not group.is_deleted:
            share_states.forget_topics(group, names, topic_ids, decision)

    def _change(
        self,
        group_id: str,
        token: object,
        change: Callable[[ShareGroup, CoordinatorDecision], None],
    ) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        group = self._share_group(group_id)
        if group is None:
            decision.reply(token, failed(ErrorCode.GROUP_ID_NOT_FOUND))
            return decision
        change(group, decision)
        group.answer(decision, token, ShareGroupHeartbeatResponse(), failed)
        if decision.records:
            self._groups.settle(group)
        return decision
