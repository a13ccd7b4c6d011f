"""The share partitions of one partition of `__share_group_state`.

The shard decides, the broker persists, the shard replays:

    decision = shard.write(...)               # any request
    # send decision.replies; if there are decision.records, append them as one batch, then
    decision = shard.committed(decision)      # or shard.failed(decision, ...)

Every decision that has records gets exactly one of `committed` and `failed`, in the order in which
the records were appended. Decisions are made on the *pending* states, those with all records that
are not committed yet, so that a new leader of a share partition reads everything that an earlier
one was told is stored; its answer is held until that is committed.

A request has the share partitions of this shard only; the caller splits it.
"""

from collections.abc import Callable, Collection

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.share.state.error_answers import DELETE, INITIALIZE, WRITE, hold_errors
from barnabas.share.state.pending_states import PendingStates, ShareStateDecision
from barnabas.share.state.records import is_state_batch, state_of
from barnabas.share.state.share_state import SharePartitionKey, ShareState
from barnabas.share.state.states_image import ShareStatesImage
from barnabas.share.state_write import NO_START_OFFSET, StateBatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import delete_share_group_state as delete_messages
from barnabas.wire.messages import initialize_share_group_state as initialize_messages
from barnabas.wire.messages import read_share_group_state as read_messages
from barnabas.wire.messages import read_share_group_state_summary as summary_messages
from barnabas.wire.messages import write_share_group_state as write_messages

TopicExists = Callable[[bytes, int], bool]

UPDATES_PER_SNAPSHOT = 500


def _any_topic(_topic_id: bytes, _partition: int) -> bool:
    return True


class ShareStateShard:
    __slots__ = ("_exists", "_pending")

    def __init__(
        self,
        updates_per_snapshot: int = UPDATES_PER_SNAPSHOT,
        exists: TopicExists = _any_topic,
    ) -> None:
        """`exists` says whether a topic with this id has this partition."""
        self._exists = exists
        self._pending = PendingStates(updates_per_snapshot)

    # -- replay ------------------------------------------------------------------------------------

    @property
    def image(self) -> ShareStatesImage:
        """What is persistent."""
        return self._pending.image

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Apply one stored record; unknown kinds are skipped. Raises `CorruptRecord`."""
        self.image.replay(key, value)

    def unload(self) -> None:
        """End the shard: forget everything. No request is parked."""
        self._pending.unload()

    def committed(self, decision: CoordinatorDecision) -> ShareStateDecision:
        return self._pending.committed(decision)

    def failed(
        self,
        decision: CoordinatorDecision,
        error: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ) -> ShareStateDecision:
        """The decision's records are not persisted: undo it. After `unload` there is nothing to
        undo."""
        return self._pending.failed(decision, error)

    # -- requests ----------------------------------------------------------------------------------

    def initialize(
        self,
        request: initialize_messages.InitializeShareGroupStateRequest,
        *,
        token: object,
        time_ms: int,
    ) -> ShareStateDecision:
        """Replies with an InitializeShareGroupStateResponse. Begin a state, or begin it again with
        a greater state epoch."""
        decision = ShareStateDecision()
        results = [
            (
                topic.topic_id,
                [
                    (
                        asked.partition,
                        self._initialize(
                            SharePartitionKey(request.group_id, topic.topic_id, asked.partition),
                            asked,
                            decision,
                            time_ms,
                        ),
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        hold_errors(decision, token, results, INITIALIZE)
        return decision

    def _initialize(
        self,
        key: SharePartitionKey,
        asked: initialize_messages.PartitionData,
        decision: ShareStateDecision,
        time_ms: int,
    ) -> ErrorCode:
        state = self._pending.get(key)
        if asked.partition < 0 or asked.state_epoch < 0 or asked.start_offset < -1:
            return ErrorCode.INVALID_REQUEST
        if not self._exists(key.topic_id, asked.partition):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if state is not None and state.state_epoch > asked.state_epoch:
            return ErrorCode.FENCED_STATE_EPOCH
        if state is not None and state.state_epoch == asked.state_epoch:
            # A retry, maybe a late one: what was stored since stays.
            is_same = asked.start_offset in (NO_START_OFFSET, state.start_offset)
            return ErrorCode.NONE if is_same else ErrorCode.FENCED_STATE_EPOCH
        self._pending.put_snapshot(
            key,
            ShareState(
                snapshot_epoch=-1 if state is None else state.snapshot_epoch,
                state_epoch=asked.state_epoch,
                leader_epoch=0 if state is None else state.leader_epoch,
                start_offset=asked.start_offset,
                create_timestamp_ms=time_ms,
            ),
            decision,
            time_ms,
        )
        return ErrorCode.NONE

    def write(
        self,
        request: write_messages.WriteShareGroupStateRequest,
        *,
        token: object,
        time_ms: int,
    ) -> ShareStateDecision:
        """Replies with a WriteShareGroupStateResponse."""
        decision = ShareStateDecision()
        results: list[tuple[bytes, list[tuple[int, ErrorCode]]]] = []
        for topic in request.topics:
            errors = []
            for asked in topic.partitions:
                key = SharePartitionKey(request.group_id, topic.topic_id, asked.partition)
                errors.append((asked.partition, self._write(key, asked, decision, time_ms)))
            results.append((topic.topic_id, errors))
        hold_errors(decision, token, results, WRITE)
        return decision

    def _write(
        self,
        key: SharePartitionKey,
        asked: write_messages.PartitionData,
        decision: ShareStateDecision,
        time_ms: int,
    ) -> ErrorCode:
        state = self._pending.get(key)
        if state is None:
            if not self._exists(key.topic_id, key.partition):
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return ErrorCode.INVALID_REQUEST  # it is not initialized
        if asked.leader_epoch < state.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if asked.state_epoch < state.state_epoch:
            return ErrorCode.FENCED_STATE_EPOCH
        batches = [
            (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
            for each in asked.state_batches
        ]
        if not all(is_state_batch(*batch) for batch in batches) or asked.start_offset < -1:
            return ErrorCode.INVALID_REQUEST
        self._pending.update(
            key,
            state,
            decision,
            time_ms,
            leader_epoch=asked.leader_epoch,
            start_offset=asked.start_offset,
            delivery_complete_count=asked.delivery_complete_count,
            batches=tuple(
                StateBatch(first, last, state_of(code), count)
                for first, last, code, count in batches
            ),
        )
        return ErrorCode.NONE

    def read(
        self,
        request: read_messages.ReadShareGroupStateRequest,
        *,
        token: object,
        time_ms: int,
    ) -> ShareStateDecision:
        """Replies with a ReadShareGroupStateResponse.

        A reader is the new leader of a share partition: from now on earlier ones are fenced, which
        takes a record.
        """
        decision = ShareStateDecision()
        results = [
            read_messages.ReadStateResult(
                topic.topic_id,
                [
                    self._read(
                        SharePartitionKey(request.group_id, topic.topic_id, asked.partition),
                        asked.leader_epoch,
                        decision,
                        time_ms,
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]

        def failed(error: ErrorCode) -> read_messages.ReadShareGroupStateResponse:
            return read_messages.ReadShareGroupStateResponse(
                [
                    read_messages.ReadStateResult(
                        topic.topic_id,
                        [
                            read_messages.PartitionResult(each.partition, each.error_code or error)
                            for each in topic.partitions
                        ],
                    )
                    for topic in results
                ]
            )

        decision.hold(
            token, committed=read_messages.ReadShareGroupStateResponse(results), failed=failed
        )
        return decision

    def _read(
        self,
        key: SharePartitionKey,
        leader_epoch: int,
        decision: ShareStateDecision,
        time_ms: int,
    ) -> read_messages.PartitionResult:
        state = self._pending.get(key)
        error = ErrorCode.NONE
        if state is None:
            exists = self._exists(key.topic_id, key.partition)
            # A leader may be asked before the group's coordinator has begun the state.
            error = ErrorCode.INVALID_REQUEST if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif leader_epoch < state.leader_epoch:
            error = ErrorCode.FENCED_LEADER_EPOCH
        if state is None or error is not ErrorCode.NONE:
            return read_messages.PartitionResult(key.partition, error)
        state = self._pending.update(key, state, decision, time_ms, leader_epoch=leader_epoch)
        return read_messages.PartitionResult(
            key.partition,
            state_epoch=state.state_epoch,
            start_offset=state.start_offset,
            state_batches=[read_messages.StateBatch(*batch) for batch in state.batches],
        )

    def delete(
        self,
        request: delete_messages.DeleteShareGroupStateRequest,
        *,
        token: object,
    ) -> ShareStateDecision:
        """Replies with a DeleteShareGroupStateResponse; what is not there is no error."""
        decision = ShareStateDecision()
        for topic in request.topics:
            for asked in topic.partitions:
                key = SharePartitionKey(request.group_id, topic.topic_id, asked.partition)
                self._pending.delete(key, decision)
        results = [
            (topic.topic_id, [(asked.partition, ErrorCode.NONE) for asked in topic.partitions])
            for topic in request.topics
        ]
        hold_errors(decision, token, results, DELETE)
        return decision

    def summary(
        self, request: summary_messages.ReadShareGroupStateSummaryRequest
    ) -> summary_messages.ReadShareGroupStateSummaryResponse:
        """What is committed; that of an unknown share partition is empty."""
        results = []
        for topic in request.topics:
            partitions = []
            for asked in topic.partitions:
                key = SharePartitionKey(request.group_id, topic.topic_id, asked.partition)
                state = self.image.get(key) or ShareState()
                partitions.append(
                    summary_messages.PartitionResult(
                        asked.partition,
                        state_epoch=state.state_epoch,
                        leader_epoch=state.leader_epoch,
                        start_offset=state.start_offset,
                        delivery_complete_count=state.delivery_complete_count,
                    )
                )
            results.append(summary_messages.ReadStateSummaryResult(topic.topic_id, partitions))
        return summary_messages.ReadShareGroupStateSummaryResponse(results)

    # -- upkeep ------------------------------------------------------------------------------------

    def topics_deleted(self, topic_ids: Collection[bytes]) -> ShareStateDecision:
        decision = ShareStateDecision()
        for key in [key for key in self.image if key.topic_id in topic_ids]:
            self._pending.delete(key, decision)
        return decision

    def snapshot(self, keys: Collection[SharePartitionKey], *, time_ms: int) -> ShareStateDecision:
        """Snapshots of states that have not changed for long, so that older records can go."""
        decision = ShareStateDecision()
        for key in keys:
            state = self._pending.get(key)
            if state is not None:
                self._pending.put_snapshot(key, state, decision, time_ms)
        return decision
