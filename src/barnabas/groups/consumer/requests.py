"""The requests of the consumer group protocol, for the groups of one shard."""

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.consumer import describe
from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.consumer.heartbeat import (
    Heartbeat,
    check,
    heartbeat,
    is_leaving,
    leave,
    refused,
)
from barnabas.groups.consumer.regexes import RegexJob, next_job, resolved
from barnabas.groups.consumer.request_check import check_request
from barnabas.groups.group import Group
from barnabas.groups.group_registry import GroupRegistry, replace_empty_group
from barnabas.groups.memory import PER_GROUP_BYTES, PER_MEMBER_BYTES, GroupMemory
from barnabas.groups.migration.downgrade import downgrade, is_to_be_downgraded
from barnabas.groups.migration.upgrade import check_upgrade, upgrade
from barnabas.groups.modern.refusal import RefusedHeartbeat, check_room
from barnabas.groups.modern.target import remove_members
from barnabas.groups.share.group import ShareGroup
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_describe import DescribedGroup
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


class ConsumerRequests:
    __slots__ = ("_groups", "_memory")

    def __init__(self, groups: GroupRegistry, memory: GroupMemory) -> None:
        self._groups = groups
        self._memory = memory

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        *,
        token: object,
        client_id: str,
        client_host: str,
        new_member_id: str,
        api_version: int,
        now_ms: int,
    ) -> CoordinatorDecision:
        """`new_member_id` is for a member that joins without one, which version 0 allows."""
        decision = CoordinatorDecision()
        member_id = request.member_id or new_member_id
        it = Heartbeat(request, token, client_id, client_host, member_id)
        try:
            check_request(request, self._groups.config, api_version)
            found, group = self._find(request)
            check(group, it)
            if not is_leaving(request):
                self._check_room(group, it)
        except RefusedHeartbeat as refusal:
            decision.reply(token, refused(refusal))
            return decision
        if isinstance(found, ClassicGroup) and not found.is_empty:
            upgrade(found, group, decision, now_ms)
        elif found is not None and found is not group:
            replace_empty_group(found, group, decision)
        if is_leaving(request):
            leave(group, it, decision, now_ms)
        else:
            heartbeat(group, it, decision, now_ms)
        if decision.records:
            self.settle(group, decision, now_ms)
        return decision

    def settle(self, group: ConsumerGroup, decision: CoordinatorDecision, now_ms: int) -> None:
        """The group has changed: register it, or the classic group that it has become."""
        if is_to_be_downgraded(group):
            classic = self._groups.new_classic_group(group.group_id)
            self._groups.take_over(group, classic)
            downgrade(group, classic, decision, now_ms)
            self._groups.settle(classic)
        else:
            self._groups.settle(group)

    def _find(self, request: ConsumerGroupHeartbeatRequest) -> tuple[Group | None, ConsumerGroup]:
        """The group of that id, and the consumer group: a new one, if a member joins and there is
        none. Raises `RefusedHeartbeat`."""
        group_id = request.group_id
        found = self._groups.get(group_id)
        if isinstance(found, ConsumerGroup):
            return found, found
        if isinstance(found, ShareGroup) and not found.is_deleted:  # even if it is empty
            raise RefusedHeartbeat(
                ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group."
            )
        if found is not None and found.is_deleted:
            raise RefusedHeartbeat(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, f"Group {group_id} is being deleted."
            )
        if request.member_epoch == 0 and isinstance(found, ClassicGroup) and not found.is_empty:
            check_upgrade(found, self._groups.topics)
        elif request.member_epoch != 0 or (found is not None and not found.is_empty):
            known = "not found" if found is None else "is not a consumer group"
            raise RefusedHeartbeat(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {known}.")
        group = self._groups.new_consumer_group(group_id)
        return found, group if found is None else self._groups.take_over(found, group)

    def _check_room(self, group: ConsumerGroup, it: Heartbeat) -> None:
        """Raises `RefusedHeartbeat`."""
        names = it.request.subscribed_topic_names or ()
        more = len(it.request.subscribed_topic_regex or "")
        if it.member_id not in group.pending.members:
            more += PER_MEMBER_BYTES + (PER_GROUP_BYTES if group.is_void else 0)
        check_room(self._memory, names, more)

    def expire_members(
        self, group: ConsumerGroup, decision: CoordinatorDecision, now_ms: int
    ) -> bool:
        """Remove members that are late; returns whether there were any."""
        due = group.members_due(now_ms)
        if due:
            remove_members(group, due, decision, now_ms)
            self.settle(group, decision, now_ms)
        return bool(due)

    def next_regex_job(self, group_id: str, now_ms: int) -> RegexJob | None:
        """What has to be resolved of a group's regular expressions; `regexes_resolved` follows."""
        group = self._groups.get(group_id)
        return next_job(group, now_ms) if isinstance(group, ConsumerGroup) else None

    def regexes_resolved(self, job: RegexJob, *, now_ms: int) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        group = self._groups.get(job.group_id)
        if isinstance(group, ConsumerGroup):
            resolved(group, job, decision, now_ms)
            self._groups.settle(group)
        return decision

    def describe(self, group_id: str) -> DescribedGroup:
        return describe.describe(group_id, self._groups.get(group_id), self._groups.topics)
