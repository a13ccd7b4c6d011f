"""A share partition on the leader of its partition: the shell of a `SharePartition`.

    loading --> serving --> over

It loads the state from the share coordinator, which fences earlier leaders; stores changes, one
write at a time; releases records whose locks time out; and wakes fetches that wait for records:
when the log grows, and when records become available again.
"""

import logging
from asyncio import AbstractEventLoop, Future, Task, TimerHandle
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from barnabas.broker.replica.partition import Partition
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.share.share_settings import ShareGroupSettings
from barnabas.broker.share.start_offset import find_start_offset
from barnabas.broker.share.state_calls import COORDINATOR_MOVES, StateCalls, state_batches
from barnabas.log import StorageError
from barnabas.records.batch import BatchHeader
from barnabas.records.cut import BatchCutter, can_cut
from barnabas.share.acknowledgement import Acknowledgement, Refusal
from barnabas.share.share_partition import NO_DEADLINE_MS, SharePartition
from barnabas.share.state import SharePartitionKey
from barnabas.share.state_write import NO_START_OFFSET
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_FENCED = frozenset({ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH})
_MOST_TURNS = 100
"""Waiting fetches that are tried in one turn of the event loop."""


class Waiter(Protocol):
    """A fetch that waits for records."""

    @property
    def is_over(self) -> bool: ...

    def try_complete(self, led: "LedSharePartition") -> bool:
        """Whether there was anything to acquire of this partition, or to say about it."""


CatchUp: TypeAlias = Callable[[], Awaitable[bool]]
"""Waits until this node has replayed all metadata committed by now; False if it can't."""


class LedSharePartition:
    def __init__(
        self,
        key: SharePartitionKey,
        partition: Partition,
        loop: AbstractEventLoop,
        clock: Clock,
        calls: StateCalls,
        settings: Callable[[str], ShareGroupSettings],
        has_caught_up: CatchUp,
        on_over: "Callable[[LedSharePartition], None]",
    ) -> None:
        self.key = key
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.error: ErrorCode | None = None
        """Why it can't serve, once it is over."""
        self.state: SharePartition | None = None
        """None while it is loaded."""
        self.bytes_per_record = 1024.0
        """Of what was read last, to read about as much as can be acquired."""
        self._cutter: BatchCutter | None = None
        """Of the batch that was cut last; the next records are mostly from the same one."""
        self._state_epoch = 0
        self._loop = loop
        self._clock = clock
        self._calls = calls
        self._settings = settings
        self._has_caught_up = has_caught_up
        self._on_over = on_over
        self._waiters: dict[Waiter, None] = {}
        self._waking = False
        self._untried = 0
        """Waiting fetches that were not tried since there was something new."""
        self._timer: TimerHandle | None = None
        self._timer_ms = NO_DEADLINE_MS
        self.is_leaving = False
        """Whether it ends as soon as everything is stored: no consumer of its group is here."""
        partition.watchers[self] = None
        self.loading = loop.create_task(self._load())
        self.loading.add_done_callback(self._loaded)

    def _is_over(self) -> bool:
        return self.error is not None

    def settings(self) -> ShareGroupSettings:
        return self._settings(self.key.group_id)

    def now_ms(self) -> int:
        return self._clock.steady_ms()

    # -- loading and ending ------------------------------------------------------------------------

    async def _load(self) -> None:
        read = await self._calls.read(self.key, self.leader_epoch)
        if self._is_over():
            return
        if read.error_code:
            self.end(_client_error(ErrorCode(read.error_code)))
            return
        start_offset = read.start_offset
        log = self.partition.log
        if start_offset == NO_START_OFFSET:
            # A client sets where its new group begins, then joins it. This node may not have
            # replayed the setting yet, and what is chosen here is for good.
            is_known = await self._has_caught_up()
            if self._is_over():
                return
            if not is_known:
                self.end(ErrorCode.COORDINATOR_NOT_AVAILABLE)
                return
        try:
            if start_offset == NO_START_OFFSET:
                start_offset = find_start_offset(
                    self.partition, self.settings(), self._clock.now_ms()
                )
        except StorageError as error:
            self.partition.log_read_error(error)
            self.end(ErrorCode.KAFKA_STORAGE_ERROR)
            return
        self._state_epoch = read.state_epoch
        state = SharePartition(
            start_offset, state_batches(read), is_stored=read.start_offset != NO_START_OFFSET
        )
        state.log_start_moved(log.log_start_offset)
        if state.has_changes:
            # The start has to be stored before anything is delivered: a later leader would choose
            # another one.
            stored: Future[ErrorCode] = self._loop.create_future()
            write = state.next_write()
            assert write is not None

            def store(error: ErrorCode) -> None:
                if not stored.done():  # this partition may have ended meanwhile
                    stored.set_result(error)

            self._calls.write(self.key, write, self._state_epoch, self.leader_epoch, store)
            error_code = await stored
            if self._is_over():
                return
            if error_code:
                self.end(_client_error(error_code))
                return
            state.written()
        self.state = state
        self.wake()
        self._leave_if_stored()

    def _loaded(self, task: "Task[None]") -> None:
        if not task.cancelled() and (bug := task.exception()) is not None:
            logger.error("%s can't be loaded", self.key, exc_info=bug)
            self.end(ErrorCode.UNKNOWN_SERVER_ERROR)

    def end(self, error: ErrorCode) -> None:
        """It is no longer led here, or can't go on; everything that waits gets an error."""
        if self.error is not None:
            return
        self.error = error
        self.partition.watchers.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
        if self.state is None:
            self.loading.cancel()
        else:
            self._answer(self.state.pending_tokens(), error)
        self._on_over(self)
        for waiter in list(self._waiters):
            waiter.try_complete(self)
        self._waiters.clear()

    def leave(self) -> None:
        """No consumer of the group is connected here any more: end once all is stored."""
        self.is_leaving = True
        self._leave_if_stored()

    def _leave_if_stored(self) -> None:
        state = self.state
        if self.is_leaving and state is not None and not state.is_busy:
            self.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def partition_moved(self, partition: Partition) -> None:
        """Called when the log has grown, or leadership has changed."""
        if not partition.is_leader or partition.leader_epoch != self.leader_epoch:
            self.end(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if partition.deleted
                else ErrorCode.NOT_LEADER_OR_FOLLOWER
            )
        else:
            self.wake()

    # -- waiting fetches ---------------------------------------------------------------------------

    def add_waiter(self, waiter: Waiter) -> None:
        self._waiters[waiter] = None

    def remove_waiter(self, waiter: Waiter) -> None:
        self._waiters.pop(waiter, None)

    def wake(self) -> None:
        """There may be something to acquire: let the waiting fetches try, in order."""
        self._untried = len(self._waiters)
        if self._waiters and not self._waking:
            self._waking = True
            self._loop.call_soon(self._wake_waiters)

    def _wake_waiters(self) -> None:
        self._waking = False
        for _ in range(min(self._untried, _MOST_TURNS)):
            waiter = next(iter(self._waiters), None)
            if waiter is None or not self.can_acquire():
                return
            self._untried -= 1
            if waiter.is_over or waiter.try_complete(self):
                self._waiters.pop(waiter, None)
            elif waiter in self._waiters:
                # The log has too little for it, and others may want less.
                del self._waiters[waiter]
                self._waiters[waiter] = None
        if self._untried and not self._waking:
            self._waking = True
            self._loop.call_soon(self._wake_waiters)

    def can_acquire(self) -> bool:
        state = self.state
        if state is None:
            return False
        settings = self.settings()
        offset = state.next_fetch_offset(settings.limits)
        return offset is not None and offset < self.end_offset(settings)

    def available_bytes(self) -> int:
        """How many bytes can be read for a consumer, about; 0 if there is nothing to acquire."""
        state = self.state
        settings = self.settings()
        offset = None if state is None else state.next_fetch_offset(settings.limits)
        end_offset = self.end_offset(settings)
        if offset is None or not self.partition.log.log_start_offset <= offset < end_offset:
            return 0
        try:
            return self.partition.log.reader.bytes_between(offset, end_offset) or 1
        except StorageError:
            return 1 << 30  # the read will fail too, so that the client gets the error

    def end_offset(self, settings: ShareGroupSettings) -> int:
        """The offset up to which the group may read."""
        partition = self.partition
        return (
            partition.last_stable_offset if settings.is_read_committed else partition.high_watermark
        )

    def cut(
        self, header: BatchHeader, batch: memoryview, first: int, last: int
    ) -> memoryview | None:
        """The records of a batch from offset `first` to `last`; None if it can't be cut."""
        if self._cutter is None or not self._cutter.is_for(header):
            if not can_cut(header):
                return None
            self._cutter = BatchCutter(header)
        return self._cutter.cut(batch, first, last)

    # -- acknowledging -----------------------------------------------------------------------------

    def acknowledge(
        self, member_id: str, acknowledgements: Sequence[Acknowledgement]
    ) -> "Refusal | Future[ErrorCode] | None":
        """None if there is nothing to store; otherwise done when that is stored, or not."""
        state = self.state
        if state is None:
            return Refusal(ErrorCode.INVALID_RECORD_STATE, "no records are acquired yet")
        token: Future[ErrorCode] = self._loop.create_future()
        limits = self.settings().limits
        outcome = state.acknowledge(
            member_id,
            acknowledgements,
            limits,
            token,
            now_ms=self.now_ms(),
            log_end_offset=self.partition.log.log_end_offset,
        )
        if isinstance(outcome, Refusal):
            return outcome
        if not outcome:
            return None
        self._write()
        return token

    def release_member(self, member_id: str) -> None:
        """The member's session has ended: others may have its records."""
        if self.state is not None and self.state.release_member(member_id, self.settings().limits):
            self._write()
            self.wake()

    def changed(self) -> None:
        """Called after records were acquired: arm the timer of their locks."""
        state = self.state
        assert state is not None
        deadline_ms = state.next_deadline_ms
        if deadline_ms < self._timer_ms:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_ms = deadline_ms
            delay_s = max(0.0, (deadline_ms - self.now_ms()) / 1000)
            self._timer = self._loop.call_later(delay_s, self._time_is_up)

    def _time_is_up(self) -> None:
        self._timer, self._timer_ms = None, NO_DEADLINE_MS
        state = self.state
        assert state is not None
        if state.tick(self.settings().limits, self.now_ms()):
            self._write()
            self.wake()
        if state.next_deadline_ms != NO_DEADLINE_MS:
            self.changed()

    # -- storing -----------------------------------------------------------------------------------

    def _write(self) -> None:
        """Store what has changed; if a write is under way, after that."""
        state = self.state
        assert state is not None
        write = state.next_write()
        if write is not None:
            self._calls.write(self.key, write, self._state_epoch, self.leader_epoch, self._written)

    def _written(self, error: ErrorCode) -> None:
        state = self.state
        if state is None or self.error is not None:
            return
        if error is ErrorCode.NONE:
            self._answer(state.written(), error)
        else:
            logger.info(
                "%s of group %s: a change is not stored: %s",
                self.partition.name,
                self.key.group_id,
                error.name,
            )
            self._answer(state.not_written(), _client_error(error))
            if error not in COORDINATOR_MOVES:
                # Fenced, or the state is gone: what this node knows is no longer so.
                self.end(_client_error(error))
                return
        self._write()
        if state.next_deadline_ms != NO_DEADLINE_MS:
            self.changed()
        self.wake()
        self._leave_if_stored()

    def _answer(self, tokens: Sequence[object], error: ErrorCode) -> None:
        for token in tokens:
            assert isinstance(token, Future)
            if not token.done():
                token.set_result(error)


def _client_error(error: ErrorCode) -> ErrorCode:
    """What a consumer is told of an error between nodes."""
    if error in COORDINATOR_MOVES:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if error in _FENCED:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if error is ErrorCode.INVALID_REQUEST:  # no member of the group has asked for this topic
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return error
