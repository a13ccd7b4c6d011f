"""The requests of the classic protocol, for the groups of one shard.

A member of the classic protocol may be in a consumer group, while that is migrated: then the
requests are those of `migration.classic_requests`.
"""

from collections.abc import Callable

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic import heartbeat, join, leave, sync
from barnabas.groups.classic.group import ClassicGroup, bytes_of
from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.consumer.requests import ConsumerRequests
from barnabas.groups.group_registry import GroupRegistry, replace_empty_group
from barnabas.groups.memory import PER_GROUP_BYTES, PER_MEMBER_BYTES, GroupMemory
from barnabas.groups.migration import classic_requests
from barnabas.groups.names import MAX_CLIENT_ID_IN_MEMBER_ID
from barnabas.groups.share.group import ShareGroup
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.join_group import JoinGroupRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class ClassicRequests:
    __slots__ = ("_consumer", "_groups", "_memory", "_new_member_suffix")

    def __init__(
        self,
        groups: GroupRegistry,
        memory: GroupMemory,
        consumer: ConsumerRequests,
        new_member_suffix: Callable[[], str],
    ) -> None:
        self._groups = groups
        self._memory = memory
        self._consumer = consumer
        self._new_member_suffix = new_member_suffix

    def join_group(
        self,
        request: JoinGroupRequest,
        *,
        token: object,
        client_id: str,
        client_host: str,
        api_version: int,
        now_ms: int,
    ) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        name = request.group_instance_id or client_id[:MAX_CLIENT_ID_IN_MEMBER_ID]
        attempt = join.Join(
            request=request,
            protocols={protocol.name: protocol.metadata for protocol in request.protocols},
            token=token,
            client_id=client_id,
            client_host=client_host,
            api_version=api_version,
            new_member_id=f"{name}-{self._new_member_suffix()}",
        )
        error = join.check_request(attempt, self._groups.config)
        if (
            error is ErrorCode.NONE
            and request.member_id
            and self._groups.get(request.group_id) is None
        ):
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is ErrorCode.NONE and not self._has_room_for(attempt):
            error = ErrorCode.GROUP_MAX_SIZE_REACHED
        if error is ErrorCode.NONE:
            group = self._joined_group(request.group_id, decision)
            if isinstance(group, ClassicGroup):
                join.join(group, attempt, decision, now_ms)
                self._groups.settle(group)
                return decision
            if isinstance(group, ConsumerGroup):
                classic_requests.join(group, attempt, decision, now_ms)
                self._consumer.settle(group, decision, now_ms)
                return decision
            error = group
        decision.reply(token, join.refused(request, error))
        return decision

    def _joined_group(
        self, group_id: str, decision: CoordinatorDecision
    ) -> ClassicGroup | ConsumerGroup | ErrorCode:
        """The group that a member of the classic protocol joins; an empty one of another kind is
        replaced, unless it is a share group."""
        group = self._groups.get_or_new(group_id)
        if isinstance(group, ClassicGroup):
            return group
        if isinstance(group, ShareGroup) and not group.is_deleted:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL  # even if it is empty
        if group.is_deleted:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not group.is_empty:
            if isinstance(group, ConsumerGroup):
                return group
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        classic = self._groups.take_over(group, self._groups.new_classic_group(group_id))
        replace_empty_group(group, classic, decision)
        return classic

    def _has_room_for(self, attempt: join.Join) -> bool:
        """Whether there is room for the member's metadata, in place of its former metadata."""
        group = self._groups.get(attempt.request.group_id)
        member = None
        if isinstance(group, ClassicGroup):
            member = group.members.get(attempt.request.member_id)
        more = bytes_of(attempt.protocols)
        more += PER_MEMBER_BYTES if member is None else -bytes_of(member.protocols)
        more += PER_GROUP_BYTES if group is None else 0
        return self._memory.has_room_for(more)

    def sync_group(
        self, request: SyncGroupRequest, *, token: object, now_ms: int
    ) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        group = self._groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            classic_requests.sync(group, request, token, decision, now_ms)
        elif not isinstance(group, ClassicGroup):
            decision.reply(token, SyncGroupResponse(error_code=_no_such_group(request.group_id)))
        elif not self._memory.has_room(sum(len(each.assignment) for each in request.assignments)):
            error = ErrorCode.GROUP_MAX_SIZE_REACHED
            decision.reply(token, SyncGroupResponse(error_code=error))
        else:
            sync.sync(group, request, token, decision, now_ms)
            self._groups.settle(group)
        return decision

    def heartbeat(self, request: HeartbeatRequest, *, now_ms: int) -> HeartbeatResponse:
        group = self._groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            error = classic_requests.heartbeat(group, request, now_ms)
            return HeartbeatResponse(error_code=error)
        if not isinstance(group, ClassicGroup):
            return HeartbeatResponse(error_code=_no_such_group(request.group_id))
        return HeartbeatResponse(error_code=heartbeat.heartbeat(group, request, now_ms))

    def leave_group(
        self, request: LeaveGroupRequest, *, token: object, api_version: int, now_ms: int
    ) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        found = self._groups.get(request.group_id)
        if isinstance(found, ConsumerGroup):
            left = classic_requests.leave(found, request, api_version, decision, now_ms)
            if decision.records:
                self._consumer.settle(found, decision, now_ms)
            found.answer(decision, token, left, lambda error: LeaveGroupResponse(error_code=error))
            return decision
        group = found if isinstance(found, ClassicGroup) else None
        leave.leave(group, request, token, api_version, decision, now_ms)
        if group is not None:
            self._groups.settle(group)
        return decision


def _no_such_group(group_id: str) -> ErrorCode:
    return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID
