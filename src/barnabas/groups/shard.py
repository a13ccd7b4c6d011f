"""The groups of one partition of `__consumer_offsets`.

The shard decides, the broker persists, the shard replays:

    decision = shard.join_group(...)          # any request, or tick()
    # send decision.replies; if there are decision.records, append them as one batch, then
    decision = shard.committed(decision, ...) # or shard.failed(decision, ...), and so on

Every decision that has records gets exactly one of `committed` and `failed`, in the order in
which the records were appended; other requests may be decided in between. Every token is answered
exactly once: at once, with the decision's own records, or, if parked, by a later decision.

Offsets that are committed in a transaction wait for its end, which the transaction coordinator
decides. The end is a marker in the log. It is replayed in the order of the log: as a decision
(`transaction_ended`) once the marker is committed, or when the partition is loaded (`replay_end`).

Left out: the newer consumer group protocol.
"""

from collections.abc import Callable, Collection, Sequence

from barnabas.coordination.decision import CoordinatorDecision, Reply
from barnabas.groups import (
    commit,
    deletion,
    describe,
    fetch,
    heartbeat,
    join,
    leave,
    sync,
    txn_commit,
)
from barnabas.groups.config import GroupConfig
from barnabas.groups.group import bytes_of
from barnabas.groups.group_offsets import deletable_offsets
from barnabas.groups.group_registry import GroupRegistry
from barnabas.groups.image import GroupsImage
from barnabas.groups.memory import PER_GROUP_BYTES, PER_MEMBER_BYTES, GroupMemory
from barnabas.groups.names import MAX_CLIENT_ID_IN_MEMBER_ID
from barnabas.groups.offsets import NO_PRODUCER_ID
from barnabas.groups.rebalance import (
    deletion_failed,
    expire_members,
    join_timed_out,
    persist_failed,
    sync_timed_out,
)
from barnabas.groups.records import decode_group, decode_key
from barnabas.groups.retention import check_retention
from barnabas.groups.transactional_offsets import TransactionEnd
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribedGroup
from barnabas.wire.messages.group_records import OffsetCommitKey
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.list_groups import ListedGroup
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequest


def _any_commit(_topic: OffsetCommitRequestTopic, _partition: int) -> ErrorCode:
    return ErrorCode.NONE


def _any_partition(_topic: str, _partition: int) -> ErrorCode:
    return ErrorCode.NONE


class GroupShard:
    __slots__ = (
        "_config",
        "_groups",
        "_memory",
        "_new_member_suffix",
    )

    def __init__(
        self,
        config: GroupConfig,
        new_member_suffix: Callable[[], str],
        memory: GroupMemory | None = None,
    ) -> None:
        """`memory` is shared by the shards of a node."""
        self._config = config
        self._memory = memory or GroupMemory(config.group_metadata_max_bytes)
        self._new_member_suffix = new_member_suffix
        self._groups = GroupRegistry(config, self._memory)

    @property
    def image(self) -> GroupsImage:
        """What is persistent; everything else in a shard is soft."""
        return self._groups.image

    # -- replay ---------------------------------------------------------------------------------

    def replay(self, key: bytes, value: bytes | None, producer_id: int = NO_PRODUCER_ID) -> None:
        """Apply one stored record; records of newer group protocols are skipped.

        With a producer id it is part of a transaction. Raises `CorruptRecord`.
        """
        self.image.replay(key, value, producer_id)

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply a stored marker: the producer's transaction ended in this partition."""
        for group_id in self.image.replay_end(producer_id, is_commit=is_commit):
            group = self._groups.get(group_id)
            if group is not None:
                self._groups.count(group)
                if group.is_void:
                    self._groups.settle(group)

    def loaded(self, now_ms: int) -> None:
        """The whole partition was replayed: begin to serve its groups."""
        for group_id in self.image:
            group = self._groups.get_or_new(group_id)
            group.restore(now_ms)
            self._groups.settle(group)

    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Reply]:
        """End the shard: forget everything, and return replies for all parked requests."""
        replies = []
        for group in self._groups:
            for member_id, token in group.joining.items():
                replies.append(
                    Reply(token, JoinGroupResponse(error_code=error, member_id=member_id))
                )
            unsynced = SyncGroupResponse(error_code=error)
            replies += (Reply(token, unsynced) for token in group.syncing.values())
        self._groups.clear()
        return replies

    def committed(self, decision: CoordinatorDecision, *, now_ms: int) -> CoordinatorDecision:
        """The decision's records are committed: replay them and decide what follows."""
        follow_up = CoordinatorDecision()
        if isinstance(decision, TransactionEnd):
            self.replay_end(decision.producer_id, is_commit=decision.is_commit)
            return follow_up
        producer = decision.producer
        producer_id = NO_PRODUCER_ID if producer is None else producer.producer_id
        for record in decision.records:
            key = self.image.replay(record.key, record.value, producer_id)
            assert key is not None
            group = self._groups.get_or_new(key.group)
            if isinstance(key, OffsetCommitKey):
                if record.value is not None:
                    group.pending_offsets.remove(
                        (key.topic, key.partition), in_transaction=producer is not None
                    )
                if group.retention_check_ms is not None and not group.is_void:
                    self._groups.count(group)
                    continue  # no deadline has changed; `settle` checks every member
            elif record.value is None:
                group = self._groups.replace_deleted(group)
            else:
                group.generation_settled()
                sync.hand_out_assignments(group, follow_up, now_ms)
            if group.retention_check_ms is None:
                interval_ms = self._config.offsets_retention_check_interval_ms
                group.retention_check_ms = now_ms + interval_ms
            self._groups.settle(group)
        follow_up.replies += (Reply(held.token, held.committed) for held in decision.held)
        return follow_up

    def failed(
        self,
        decision: CoordinatorDecision,
        error: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE,
        *,
        now_ms: int,
    ) -> CoordinatorDecision:
        """The decision's records are not persisted: undo the decision.

        Requests that wait for it get `error`. After `unload` there is nothing to undo.
        """
        follow_up = CoordinatorDecision()
        for record in decision.records:
            key = decode_key(record.key)
            assert key is not None
            group = self._groups.get(key.group)
            if group is None:
                continue
            if isinstance(key, OffsetCommitKey):
                if record.value is not None:
                    group.pending_offsets.remove(
                        (key.topic, key.partition), in_transaction=decision.producer is not None
                    )
            elif record.value is None:
                deletion_failed(group, error, follow_up, now_ms)
            else:
                group.generation_settled()
                generation_id = decode_group(record.value).generation
                persist_failed(group, generation_id, error, follow_up, now_ms)
            self._groups.settle(group)
        follow_up.replies += (Reply(held.token, held.failed(error)) for held in decision.held)
        return follow_up

    # -- requests -------------------------------------------------------------------------------

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
        error = join.check_request(attempt, self._config)
        if (
            error is ErrorCode.NONE
            and request.member_id
            and self._groups.get(request.group_id) is None
        ):
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is ErrorCode.NONE and not self._has_room_for(attempt):
            error = ErrorCode.GROUP_MAX_SIZE_REACHED
        if error is not ErrorCode.NONE:
            decision.reply(token, join.refused(request, error))
            return decision
        group = self._groups.get_or_new(request.group_id)
        join.join(group, attempt, decision, now_ms)
        self._groups.settle(group)
        return decision

    def _has_room_for(self, attempt: join.Join) -> bool:
        """Whether there is room for the member's metadata, in place of its former metadata."""
        group = self._groups.get(attempt.request.group_id)
        member = None if group is None else group.members.get(attempt.request.member_id)
        more = bytes_of(attempt.protocols)
        more += PER_MEMBER_BYTES if member is None else -bytes_of(member.protocols)
        more += PER_GROUP_BYTES if group is None else 0
        return self._memory.has_room_for(more)

    def sync_group(
        self, request: SyncGroupRequest, *, token: object, now_ms: int
    ) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        group = self._groups.get(request.group_id)
        if group is None:
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
        if group is None:
            return HeartbeatResponse(error_code=_no_such_group(request.group_id))
        return HeartbeatResponse(error_code=heartbeat.heartbeat(group, request, now_ms))

    def leave_group(
        self, request: LeaveGroupRequest, *, token: object, api_version: int, now_ms: int
    ) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        group = self._groups.get(request.group_id)
        leave.leave(group, request, token, api_version, decision, now_ms)
        if group is not None:
            self._groups.settle(group)
        return decision

    def offset_commit(
        self,
        request: OffsetCommitRequest,
        *,
        token: object,
        now_ms: int,
        check_partition: commit.CheckCommit = _any_commit,
    ) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        group = self._groups.get_or_new(request.group_id)
        commit.commit(group, request, token, check_partition, self._memory, decision, now_ms)
        if self._groups.get(request.group_id) is None:
            self._groups.settle(group)
        return decision

    def txn_offset_commit(
        self,
        request: TxnOffsetCommitRequest,
        *,
        token: object,
        now_ms: int,
        check_partition: txn_commit.CheckTxnCommit = _any_partition,
    ) -> CoordinatorDecision:
        """The transaction is ongoing, and this partition of the log is part of it."""
        decision = CoordinatorDecision()
        group = self._groups.get_or_new(request.group_id)
        txn_commit.txn_commit(
            group, request, token, check_partition, self._memory, decision, now_ms
        )
        if self._groups.get(request.group_id) is None:
            self._groups.settle(group)
        return decision

    def transaction_ended(self, producer_id: int, *, is_commit: bool) -> CoordinatorDecision:
        """Its marker is in the log, and is replayed once it is `committed`."""
        return TransactionEnd(producer_id=producer_id, is_commit=is_commit)

    def offset_fetch(
        self, request: OffsetFetchRequestGroup, *, require_stable: bool = False
    ) -> OffsetFetchResponseGroup:
        group = self._groups.get(request.group_id)
        return fetch.fetch(group, request, require_stable=require_stable)

    def offset_delete(
        self,
        request: OffsetDeleteRequest,
        *,
        token: object,
        now_ms: int,
        check_partition: deletion.CheckDelete = _any_partition,
    ) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        group = self._groups.get(request.group_id)
        deletion.delete_offsets(group, request, token, check_partition, decision, now_ms)
        return decision

    def delete_groups(self, group_ids: Sequence[str], *, token: object) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        deletion.delete_groups(self._groups, group_ids, token, decision)
        return decision

    def committed_topics(self) -> set[str]:
        """The topics for which a group has a committed or pending offset."""
        return {topic for group in self._groups for topic, _ in deletable_offsets(group)}

    def topics_deleted(self, names: Collection[str]) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        for group in self._groups:
            deletion.forget_topics(group, names, decision)
        return decision

    def list_groups(
        self, states_filter: Sequence[str] = (), types_filter: Sequence[str] = ()
    ) -> list[ListedGroup]:
        return describe.list_groups(self._groups, states_filter, types_filter)

    def describe_group(self, group_id: str, *, api_version: int) -> DescribedGroup:
        return describe.describe(group_id, self._groups.get(group_id), api_version)

    # -- time -----------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        """When to call `tick`; there may be nothing to do then."""
        return self._groups.next_deadline_ms()

    def tick(self, now_ms: int) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        for group in self._groups.due(now_ms):
            expire_members(group, decision, now_ms)
            if _is_past(group.join_deadline_ms, now_ms):
                join_timed_out(group, decision, now_ms)
            if _is_past(group.sync_deadline_ms, now_ms):
                sync_timed_out(group, decision, now_ms)
            if _is_past(group.retention_check_ms, now_ms):
                check_retention(group, decision, now_ms)
            self._groups.settle(group)
        return decision


def _is_past(deadline_ms: int | None, now_ms: int) -> bool:
    return deadline_ms is not None and deadline_ms <= now_ms


def _no_such_group(group_id: str) -> ErrorCode:
    return ErrorCode.UNKNOWN_MEMBER_ID if group_id else ErrorCode.INVALID_GROUP_ID
