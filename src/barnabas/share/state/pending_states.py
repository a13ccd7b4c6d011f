"""The states of share partitions with all records that are not committed yet.

    states.update(key, state, decision, ...)  # adds a record to the decision, and changes the state
    states.committed(decision)                # or failed(decision, ...), which undoes it

Every decision that has records gets exactly one of `committed` and `failed`, in the order in which
the records were appended.
"""

from dataclasses import dataclass, field, replace

from barnabas.coordination.decision import CoordinatorDecision, Reply
from barnabas.share.state.records import decode_key, snapshot_record, update_record
from barnabas.share.state.share_state import NO_COUNT, SharePartitionKey, ShareState
from barnabas.share.state.states_image import ShareStatesImage
from barnabas.share.state_write import NO_START_OFFSET, StateBatch
from barnabas.wire.errors import ErrorCode


@dataclass(slots=True)
class ShareStateDecision(CoordinatorDecision):
    before: dict[SharePartitionKey, "ShareState | None"] = field(default_factory=dict)
    """The pending states before this decision, of those that it changes."""


@dataclass(slots=True)
class _Pending:
    state: ShareState | None
    """None: it is being deleted."""
    decisions: int = 0


class PendingStates:
    __slots__ = ("_pending", "_updates_per_snapshot", "image")

    def __init__(self, updates_per_snapshot: int) -> None:
        self._updates_per_snapshot = updates_per_snapshot
        self.image = ShareStatesImage()
        """What is persistent; everything else is soft."""
        self._pending: dict[SharePartitionKey, _Pending] = {}

    def __len__(self) -> int:
        """How many states have records that are not committed."""
        return len(self._pending)

    def get(self, key: SharePartitionKey) -> ShareState | None:
        pending = self._pending.get(key)
        return self.image.get(key) if pending is None else pending.state

    def unload(self) -> None:
        """Forget everything."""
        self.image = ShareStatesImage()
        self._pending.clear()

    # -- the end of a decision ---------------------------------------------------------------------

    def committed(self, decision: CoordinatorDecision) -> ShareStateDecision:
        for record in decision.records:
            key = self.image.replay(record.key, record.value)
            assert key is not None
            self._no_longer_pending(key)
        follow_up = ShareStateDecision()
        follow_up.replies += (Reply(held.token, held.committed) for held in decision.held)
        return follow_up

    def failed(
        self,
        decision: CoordinatorDecision,
        error: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ) -> ShareStateDecision:
        """The decision's records are not persisted: undo it. After `unload` there is nothing to
        undo."""
        assert isinstance(decision, ShareStateDecision)
        for key, state in decision.before.items():
            if key in self._pending:
                self._pending[key].state = state
        for record in decision.records:
            decoded = decode_key(record.key)
            assert decoded is not None
            self._no_longer_pending(decoded[0])
        follow_up = ShareStateDecision()
        follow_up.replies += (Reply(held.token, held.failed(error)) for held in decision.held)
        return follow_up

    def _no_longer_pending(self, key: SharePartitionKey) -> None:
        pending = self._pending.get(key)
        if pending is not None:
            pending.decisions -= 1
            if pending.decisions == 0:
                del self._pending[key]

    # -- changes -----------------------------------------------------------------------------------

    def _put(
        self, key: SharePartitionKey, state: ShareState | None, decision: ShareStateDecision
    ) -> None:
        """The state is as a record of the decision has it, or deleted by one."""
        decision.before.setdefault(key, self.get(key))
        pending = self._pending.setdefault(key, _Pending(state))
        pending.state = state
        pending.decisions += 1

    def put_snapshot(
        self,
        key: SharePartitionKey,
        state: ShareState,
        decision: ShareStateDecision,
        time_ms: int,
    ) -> None:
        state = replace(
            state,
            snapshot_epoch=state.snapshot_epoch + 1,
            write_timestamp_ms=time_ms,
            update_count=0,
        )
        decision.records.append(snapshot_record(key, state))
        self._put(key, state, decision)

    def update(
        self,
        key: SharePartitionKey,
        state: ShareState,
        decision: ShareStateDecision,
        time_ms: int,
        *,
        leader_epoch: int,
        start_offset: int = NO_START_OFFSET,
        delivery_complete_count: int = NO_COUNT,
        batches: tuple[StateBatch, ...] = (),
    ) -> ShareState:
        updated = state.updated(leader_epoch, start_offset, delivery_complete_count, batches)
        if updated.update_count > self._updates_per_snapshot:
            self.put_snapshot(key, updated, decision, time_ms)
            return updated
        decision.records.append(
            update_record(
                key,
                state.snapshot_epoch,
                leader_epoch,
                start_offset,
                delivery_complete_count,
                batches,
            )
        )
        self._put(key, updated, decision)
        return updated

    def delete(self, key: SharePartitionKey, decision: ShareStateDecision) -> None:
        """What is not there is no error."""
        if self.get(key) is not None:
            decision.records.append(snapshot_record(key, None))
            self._put(key, None, decision)
