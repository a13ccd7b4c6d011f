"""The groups of one partition of `__consumer_offsets`, for as long as this node leads it."""

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Collection, Sequence

from barnabas.broker.clock import Clock
from barnabas.broker.led_shard import LedShard
from barnabas.broker.partition import Partition
from barnabas.coordination.decision import Decision, Reply
from barnabas.groups import GroupShard
from barnabas.records.batch import BatchHeader
from barnabas.records.record import Record as StoredRecord
from barnabas.wire.errors import ErrorCode

_SWEEP_AFTER_S = 600


class LedGroups(LedShard[Decision]):
    def __init__(
        self,
        partition: Partition,
        groups: GroupShard,
        loop: AbstractEventLoop,
        clock: Clock,
        commit_timeout_ms: int,
        topics: Callable[[], Collection[str]],
    ) -> None:
        """`topics` tells the names of all that there are."""
        super().__init__(partition, loop, clock, commit_timeout_ms)
        self.groups = groups
        self._topics = topics
        self._deleted_topics: set[str] = set()
        """Those that were deleted while it was loading."""
        self._sweep_timer: TimerHandle | None = None

    # -- its life ----------------------------------------------------------------------------------

    def replay(self, _header: BatchHeader, records: Sequence[StoredRecord]) -> None:
        """Raises `CorruptRecord`."""
        for record in records:
            if record.key is not None:
                self.groups.replay(record.key, record.value)

    def _loaded(self) -> None:
        """Groups live on from what is stored, sessions begin anew."""
        self.groups.loaded(self.now_ms())
        self._carry_out(self.groups.topics_deleted(self._deleted_topics))
        self._deleted_topics.clear()
        self._sweep_timer = self._loop.call_later(_SWEEP_AFTER_S, self._sweep)

    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Reply]:
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        return self.groups.unload(error)

    def _committed(self, decision: Decision) -> Decision:
        return self.groups.committed(decision, now_ms=self.now_ms())

    def _failed(self, decision: Decision, error: ErrorCode) -> Decision:
        return self.groups.failed(decision, error, now_ms=self.now_ms())

    def _tick(self) -> Decision:
        return self.groups.tick(self.now_ms())

    def _next_deadline_ms(self) -> int | None:
        return self.groups.next_deadline_ms()

    # -- topics that are no more -------------------------------------------------------------------

    def topics_deleted(self, names: Collection[str]) -> None:
        """Offsets of deleted topics go with them, or as soon as they are loaded."""
        if self._refusal is ErrorCode.NONE:
            self._carry_out(self.groups.topics_deleted(names))
        else:
            self._deleted_topics.update(names)

    def _sweep(self) -> None:
        """Let offsets go of topics that were deleted when nobody led, or by a leader that fell.

        Not at once: right after a start a node may not have heard yet of all topics that there are.
        """
        self._carry_out(
            self.groups.topics_deleted(self.groups.committed_topics().difference(self._topics()))
        )
