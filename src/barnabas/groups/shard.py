"""The groups of one partition of `__consumer_offsets`.

The shard decides, the broker persists, the shard replays:

    decision = shard.classic.join_group(...)  # any request, or tick()
    # send decision.replies; if there are decision.records, append them as one batch, then
    decision = shard.committed(decision, ...) # or shard.failed(decision, ...), and so on

Every decision that has records gets exactly one of `committed` and `failed`, in the order in
which the records were appended; other requests may be decided in between. Every token is answered
exactly once: at once, with the decision's own records, or, if parked, by a later decision.

Offsets that are committed in a transaction wait for its end, which the transaction coordinator
decides. The end is a marker in the log. It is replayed in the order of the log: as a decision
(`transaction_ended`) once the marker is committed, or when the partition is loaded (`replay_end`).

Requests for committed offsets are methods here; those of each protocol have an object of their own:
`classic`, `consumer` and `share`.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from barnabas.coordination.decision import CoordinatorDecision, CoordinatorRecord, Reply
from barnabas.groups.classic import describe, sync
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.rebalance import (
    deletion_failed,
    drop_member,
    expire_members,
    join_timed_out,
    persist_failed,
    rebalance,
    sync_timed_out,
)
from barnabas.groups.classic.requests import ClassicRequests
from barnabas.groups.config import GroupConfig
from barnabas.groups.consumer.group import ConsumerGroup
from barnabas.groups.consumer.requests import ConsumerRequests
from barnabas.groups.group import Group
from barnabas.groups.group_registry import GroupRegistry
from barnabas.groups.image import GroupsImage
from barnabas.groups.listing import listing
from barnabas.groups.memory import GroupMemory
from barnabas.groups.modern.target import remove_members
from barnabas.groups.modern.topics import NoTopics, Topics
from barnabas.groups.offsets import commit, deletion, fetch, txn_commit
from barnabas.groups.offsets.committed_offsets import NO_PRODUCER_ID
from barnabas.groups.offsets.group_offsets import deletable_offsets
from barnabas.groups.offsets.retention import check_retention
from barnabas.groups.offsets.transactional_offsets import TransactionEnd
from barnabas.groups.records import DecodedRecord, decode_record
from barnabas.groups.share.group import ShareGroup
from barnabas.groups.share.requests import ShareRequests
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribedGroup
from barnabas.wire.messages.group_records import GroupMetadataValue, OffsetCommitKey
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.list_groups import ListedGroup
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from barnabas.wire.messages.sync_group import SyncGroupResponse
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
        "classic",
        "consumer",
        "share",
    )

    def __init__(
        self,
        config: GroupConfig,
        new_member_suffix: Callable[[], str],
        memory: GroupMemory | None = None,
        topics: Topics | None = None,
    ) -> None:
        """`memory` is shared by the shards of a node."""
        self._config = config
        self._memory = memory or GroupMemory(config.group_metadata_max_bytes)
        self._groups = GroupRegistry(config, self._memory, topics or NoTopics())
        self.consumer = ConsumerRequests(self._groups, self._memory)
        self.share = ShareRequests(self._groups, self._memory)
        self.classic = ClassicRequests(self._groups, self._memory, self.consumer, new_member_suffix)

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
        replies: list[Reply] = []
        for group in self._groups:
            if isinstance(group, ClassicGroup):
                replies += _answer_parked(group, error)
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
        modern: dict[str, None] = {}
        for stored in decision.records:
            record = self.image.replay(stored.key, stored.value, producer_id)
            assert record is not None
            if record.is_modern:
                modern[record.group_id] = None
            else:
                self._committed(stored, record, decision, follow_up, now_ms)
        for group_id in modern:
            group = self._groups.persisted(group_id, decision)
            self._settle_persisted(group, now_ms)
        follow_up.replies += (Reply(held.token, held.committed) for held in decision.held)
        return follow_up

    def _committed(
        self,
        stored: CoordinatorRecord,
        record: DecodedRecord,
        decision: CoordinatorDecision,
        follow_up: CoordinatorDecision,
        now_ms: int,
    ) -> None:
        key = record.key
        group = self._groups.get_or_new(record.group_id)
        if isinstance(key, OffsetCommitKey):
            if record.value is not None:
                group.pending_offsets.remove(
                    (key.topic, key.partition), in_transaction=decision.producer is not None
                )
            if group.retention_check_ms is not None and not group.is_void:
                self._groups.count(group)
                return  # no deadline has changed; `settle` checks every member
        elif self._groups.settled(group, stored) and isinstance(group, ClassicGroup):
            if record.value is not None:
                sync.hand_out_assignments(group, follow_up, now_ms)
            elif group.is_deleted:
                group = self._groups.replace_deleted(group)
        self._settle_persisted(group, now_ms)

    def _settle_persisted(self, group: Group, now_ms: int) -> None:
        if group.retention_check_ms is None:
            interval_ms = self._config.offsets_retention_check_interval_ms
            group.retention_check_ms = now_ms + interval_ms
        self._groups.settle(group)

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
        modern: dict[str, None] = {}
        for stored in decision.records:
            record = decode_record(stored.key, stored.value)
            assert record is not None
            if record.is_modern:
                modern[record.group_id] = None
            else:
                self._failed(stored, record, decision, error, follow_up, now_ms)
        for group_id in modern:
            failed = self._groups.failed(group_id, decision, now_ms)
            if isinstance(failed, ClassicGroup):
                follow_up.replies += _answer_parked(failed, error)
        follow_up.replies += (Reply(held.token, held.failed(error)) for held in decision.held)
        return follow_up

    def _failed(
        self,
        stored: CoordinatorRecord,
        record: DecodedRecord,
        decision: CoordinatorDecision,
        error: ErrorCode,
        follow_up: CoordinatorDecision,
        now_ms: int,
    ) -> None:
        key = record.key
        group = self._groups.get(record.group_id)
        if group is None:
            return
        if isinstance(key, OffsetCommitKey):
            if record.value is not None:
                group.pending_offsets.remove(
                    (key.topic, key.partition), in_transaction=decision.producer is not None
                )
        elif self._groups.settled(group, stored) and isinstance(group, ClassicGroup):
            if isinstance(record.value, GroupMetadataValue):
                persist_failed(group, record.value.generation, error, follow_up, now_ms)
            elif group.is_deleted:
                deletion_failed(group, error, follow_up, now_ms)
        self._groups.settle(group)

    # -- requests -------------------------------------------------------------------------------

    def offset_commit(
        self,
        request: OffsetCommitRequest,
        *,
        token: object,
        now_ms: int,
        check_partition: commit.CheckCommit = _any_commit,
        uses_epochs: bool = True,
    ) -> CoordinatorDecision:
        """`uses_epochs`: the version of the request has member epochs."""
        decision = CoordinatorDecision()
        group = self._groups.get_or_new(request.group_id)
        commit.commit(
            group,
            request,
            token,
            check_partition,
            self._groups.topics,
            self._memory,
            decision,
            now_ms,
            uses_epochs=uses_epochs,
        )
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
            group,
            request,
            token,
            check_partition,
            self._groups.topics,
            self._memory,
            decision,
            now_ms,
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
        if group is not None:
            error = group.check_fetch(request.member_id, request.member_epoch)
            if error is not ErrorCode.NONE:
                return OffsetFetchResponseGroup(request.group_id, error_code=error)
        return fetch.fetch(group, request, self._groups.topics, require_stable=require_stable)

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

    def topics_deleted(
        self, names: Collection[str], topic_ids: Collection[bytes] | None = None
    ) -> CoordinatorDecision:
        """Topics of these names and ids were deleted; without ids, whichever had these names."""
        decision = CoordinatorDecision()
        for group in self._groups:
            deletion.forget_topics(group, names, topic_ids, decision)
            if isinstance(group, ShareGroup):
                self.share.topics_deleted(group, names, topic_ids, decision)
        return decision

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups)

    def list_groups(
        self, states_filter: Sequence[str] = (), types_filter: Sequence[str] = ()
    ) -> list[ListedGroup]:
        listed = self.listing(states_filter, types_filter)
        return [group for group in listed if group is not None]

    def listing(
        self, states_filter: Sequence[str], types_filter: Sequence[str]
    ) -> Iterator[ListedGroup | None]:
        """As `list_groups`, one after the other, with None in place of a group that does not match.
        By the time the last is listed, there may be other groups."""
        return listing(tuple(self._groups), states_filter, types_filter)

    def describe_group(self, group_id: str, *, api_version: int) -> DescribedGroup:
        return describe.describe(group_id, self._groups.get(group_id), api_version)

    # -- connections -----------------------------------------------------------------------------

    def is_member(self, group_id: str, member_id: str) -> bool:
        """Whether a group has this member, which may speak any protocol."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup | ShareGroup):
            return member_id in group.pending.members
        return isinstance(group, ClassicGroup) and member_id in group.members

    def disconnected(self, group_id: str, member_id: str, now_ms: int) -> CoordinatorDecision:
        """A member's connection broke, and it did not come back: remove it, unless it is static.

        A static member is expected to come back as another process.
        """
        decision = CoordinatorDecision()
        group = self._groups.get(group_id)
        if not self.is_member(group_id, member_id):
            return decision
        if isinstance(group, ConsumerGroup) and not group.pending.members[member_id].is_static:
            remove_members(group, [member_id], decision, now_ms)
            self.consumer.settle(group, decision, now_ms)
        elif isinstance(group, ClassicGroup) and not group.members[member_id].is_static:
            drop_member(group, member_id, decision)
            rebalance(group, decision, now_ms)
            self._groups.settle(group)
        return decision

    # -- time -----------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        """When to call `tick`; there may be nothing to do then."""
        return self._groups.next_deadline_ms()

    def tick(self, now_ms: int) -> CoordinatorDecision:
        decision = CoordinatorDecision()
        for group in self._groups.due(now_ms):
            if isinstance(group, ClassicGroup):
                expire_members(group, decision, now_ms)
                if _is_past(group.join_deadline_ms, now_ms):
                    join_timed_out(group, decision, now_ms)
                if _is_past(group.sync_deadline_ms, now_ms):
                    sync_timed_out(group, decision, now_ms)
            elif isinstance(group, ShareGroup):
                self.share.expire_members(group, decision, now_ms)
            elif isinstance(group, ConsumerGroup) and self.consumer.expire_members(
                group, decision, now_ms
            ):
                continue
            if _is_past(group.retention_check_ms, now_ms):
                check_retention(group, decision, now_ms)
            self._groups.settle(group)
        return decision


def _is_past(deadline_ms: int | None, now_ms: int) -> bool:
    return deadline_ms is not None and deadline_ms <= now_ms


def _answer_parked(group: ClassicGroup, error: ErrorCode) -> list[Reply]:
    """Replies for all requests that wait for others, in a group that ends."""
    unsynced = SyncGroupResponse(error_code=error)
    return [
        *(
            Reply(token, JoinGroupResponse(error_code=error, member_id=member_id))
            for member_id, token in group.joining.items()
        ),
        *(Reply(token, unsynced) for token in group.syncing.values()),
    ]
