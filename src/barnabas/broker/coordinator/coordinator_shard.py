"""The state of a coordinator in one partition of its topic, for as long as this node leads it.

It persists the decisions of a pure shard, answers the requests that wait for them, and runs timers:
for groups in `__consumer_offsets` (`group_coordinator_shard`), for transactions in
`__transaction_state` (`transaction_coordinator_shard`).

    loading --> serving --> over
       |                     ^
       '-----> damaged ------'

Decisions whose records are appended and not yet committed are in flight, in the order of the log,
and are replayed in that order. When the shard ends, because another node leads the partition or
this node leads it in a newer epoch, all of them fail: the next leader's log decides whether their
records survive, and waiting clients have to ask there.

A decision may also come without records, for something that was appended elsewhere: the marker that
ends a transaction. It is replayed in the order of the log too.
"""

from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.runtime.clock import Clock
from barnabas.coordination.decision import CoordinatorDecision, ProducerIdAndEpoch, Reply
from barnabas.log import StorageError
from barnabas.records.batch import BatchHeader, parse_header
from barnabas.records.encode import encode_batch
from barnabas.records.errors import InvalidBatch
from barnabas.records.record import Record as StoredRecord
from barnabas.wire.errors import ErrorCode

DecisionT = TypeVar("DecisionT", bound=CoordinatorDecision)

_NO_PRODUCER = ProducerIdAndEpoch(-1, -1)


@dataclass(slots=True)
class InFlight(Generic[DecisionT]):
    """A decision whose records end before `next_offset`, and the deadline of the wait for them."""

    next_offset: int
    deadline_ms: int
    decision: DecisionT


class CoordinatorShard(ABC, Generic[DecisionT]):
    """The shell of one pure shard. Subclasses hold what is specific to groups or transactions."""

    def __init__(
        self,
        partition: LeaderPartition,
        loop: AbstractEventLoop,
        clock: Clock,
        commit_timeout_ms: int,
    ) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.is_over = False
        self.replayed_offset = 0
        """All records before this offset are replayed, and none after it."""
        self._loop = loop
        self._clock = clock
        self._commit_timeout_ms = commit_timeout_ms
        self._refusal = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self._in_flight: deque[InFlight[DecisionT]] = deque()
        self._waiter: Future[None] | None = None
        """The wait for the first decision in flight; the others wait behind it."""
        self._progress: Future[None] | None = None
        self._timer: TimerHandle | None = None
        self._overdue: TimerHandle | None = None

    # -- for subclasses ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def image(self) -> object:
        """The persistent state, as it is replayed up to `replayed_offset`."""

    @abstractmethod
    def replay(self, header: BatchHeader, records: Sequence[StoredRecord]) -> None:
        """Apply a stored batch. Raises what the topic's coordinator expects."""

    @abstractmethod
    def _loaded(self) -> None:
        """Everything is replayed and committed: start timers and sessions."""

    @abstractmethod
    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Reply]:
        """Drop all state; returns the answers for all waiting requests."""

    @abstractmethod
    def _committed(self, decision: DecisionT) -> DecisionT:
        """The decision's records are committed; returns the decision that follows."""

    @abstractmethod
    def _failed(self, decision: DecisionT, error: ErrorCode) -> DecisionT:
        """The decision's records are not stored, or that is unknown; returns the decision that
        follows."""

    @abstractmethod
    def _tick(self) -> DecisionT:
        """A timer has expired."""

    @abstractmethod
    def _next_deadline_ms(self) -> int | None: ...

    def now_ms(self) -> int:
        return self._clock.steady_ms()

    @property
    def leads(self) -> bool:
        """Whether this node still leads the partition in this shard's leader epoch."""
        partition = self.partition
        return (
            not self.is_over and partition.is_leader and partition.leader_epoch == self.leader_epoch
        )

    @property
    def error(self) -> ErrorCode:
        """Why the shard can't serve requests; NONE if it can."""
        return self._refusal if self.leads else ErrorCode.NOT_COORDINATOR

    # -- life cycle --------------------------------------------------------------------------------

    def serve(self, loaded_offset: int) -> None:
        """Start to serve: everything before `loaded_offset` is replayed and committed.

        Deadlines restart. Markers that were appended during loading may already have been replayed.
        """
        in_flight = self._in_flight
        while in_flight and in_flight[0].next_offset <= loaded_offset:
            in_flight.popleft()
        self._refusal = ErrorCode.NONE
        self.replayed_offset = loaded_offset
        self._loaded()

    def damaged(self) -> None:
        """The log can't be read, so requests get an error."""
        self.unload()
        self._refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE

    def end(self) -> None:
        """Answer all waiting requests; decisions in flight fail, as their outcome is unknown
        here."""
        self.is_over = True
        for timer in (self._timer, self._overdue):
            if timer is not None:
                timer.cancel()
        self._send(self.unload())
        self._fail_all(ErrorCode.NOT_COORDINATOR)
        self._say_progress()

    # -- decisions ---------------------------------------------------------------------------------

    def decide(
        self,
        decide: Callable[["Future[Any]"], DecisionT],
        token: "Future[Any] | None" = None,
    ) -> "Future[Any]":
        """Call `decide` with a token, and return that token: the future of the response."""
        if token is None:
            token = self._loop.create_future()
        self.carry_out(decide(token))
        return token

    def progress(self) -> "Future[None]":
        """Done with the next committed decision, or when the shard ends.

        Several callers may wait for it, so it must not be cancelled.
        """
        if self._progress is None:
            self._progress = self._loop.create_future()
        return self._progress

    def _say_progress(self) -> None:
        progress, self._progress = self._progress, None
        if progress is not None:
            progress.set_result(None)

    def appended(self, decision: DecisionT, next_offset: int) -> None:
        """The marker that `decision` belongs to is in the log, before `next_offset`, which is now
        the log end."""
        self._put_in_flight(decision, next_offset)
        self._advance()

    def carry_out(self, decision: DecisionT) -> None:
        """Persist a decision that no request waits for."""
        self._persist(decision)
        self._advance()

    def _persist(self, decision: DecisionT) -> None:
        """Send answers that need no commit, and append the decision's records."""
        while True:
            self._publish(decision)
            if not decision.records:
                return
            if not self.leads:
                error = ErrorCode.NOT_COORDINATOR
            else:
                try:
                    next_offset = self._append(decision)
                except InvalidBatch as refusal:  # the producer is fenced, or has no transaction
                    error = refusal.error_code
                except StorageError as refusal:  # the disk failed, or too few replicas are in sync
                    self.partition.log_refusal(refusal, self.now_ms())
                    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
                else:
                    self._put_in_flight(decision, next_offset)
                    return
            decision = self._failed(decision, error)

    def _append(self, decision: DecisionT) -> int:
        time_ms = self._clock.now_ms()
        producer_id, producer_epoch = decision.producer or _NO_PRODUCER
        batch = encode_batch(
            [(time_ms, key, value, ()) for key, value in decision.records],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=decision.producer is not None,
        )
        info = self.partition.appender.append_internal(batch, parse_header(batch), time_ms)
        return info.last_offset + 1

    def _put_in_flight(self, decision: DecisionT, next_offset: int) -> None:
        deadline_ms = self.now_ms() + self._commit_timeout_ms
        self._in_flight.append(InFlight(next_offset, deadline_ms, decision))

    def _advance(self) -> None:
        """Replay what is committed by now, in log order, and wait for the rest."""
        if not self.leads:
            return  # another epoch uses these offsets now, and `end` will be called
        if self._refusal is not ErrorCode.NONE:
            return  # earlier decisions are not replayed yet
        in_flight = self._in_flight
        while in_flight and self._is_committed(in_flight[0].next_offset):
            first = in_flight.popleft()
            follow_up = self._committed(first.decision)
            self.replayed_offset = first.next_offset
            self._persist(follow_up)
            self._say_progress()
        if in_flight and self._waiter is None:
            waiter = self.partition.committed(in_flight[0].next_offset)
            assert waiter is not None
            waiter.add_done_callback(self._moved)
            self._waiter = waiter
            if self._overdue is None:
                self._watch_for_overdue()
        self._arm()

    def _is_committed(self, next_offset: int) -> bool:
        return next_offset <= self.partition.high_watermark

    def _moved(self, waiter: "Future[None]") -> None:
        self._waiter = None
        if self.is_over:
            return
        if waiter.cancelled():
            # Markers are appended elsewhere, so this shard can't fail them.
            markers = [each for each in self._in_flight if not each.decision.records]
            self._fail_all(
                ErrorCode.COORDINATOR_NOT_AVAILABLE if self.leads else ErrorCode.NOT_COORDINATOR
            )
            self._in_flight.extendleft(reversed(markers))
        self._advance()

    def _fail_all(self, error: ErrorCode) -> None:
        in_flight, self._in_flight = self._in_flight, deque()
        for each in in_flight:
            self._persist(self._failed(each.decision, error))

    def _publish(self, decision: DecisionT) -> None:
        """Send the answers that are ready."""
        self._send(decision.replies)

    def _send(self, replies: list[Reply]) -> None:
        for token, response in replies:
            assert isinstance(token, Future)
            if not token.done():  # the client may have disconnected, or its wait timed out
                token.set_result(response)

    # -- timers ------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Set the timer for the next deadline."""
        deadline_ms = self._next_deadline_ms()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ms is not None:
            self._timer = self._at(deadline_ms, self._time_is_up)

    def _time_is_up(self) -> None:
        self._timer = None
        self.carry_out(self._tick())

    def _watch_for_overdue(self) -> None:
        if self._in_flight:
            self._overdue = self._at(self._in_flight[0].deadline_ms, self._answer_overdue)

    def _answer_overdue(self) -> None:
        """Answer requests whose wait has timed out. Their decisions stay in flight.

        The records are in the log and may still be committed, so the decisions must not fail.
        """
        self._overdue = None
        now_ms = self.now_ms()
        for each in self._in_flight:
            if each.deadline_ms <= now_ms:
                held, each.decision.held = each.decision.held, []
                self._send(
                    [
                        Reply(one.token, one.failed(ErrorCode.COORDINATOR_NOT_AVAILABLE))
                        for one in held
                    ]
                )
                each.deadline_ms = now_ms + self._commit_timeout_ms
        self._watch_for_overdue()

    def _at(self, deadline_ms: int, callback: Callable[[], None]) -> TimerHandle:
        delay = max(0.0, (deadline_ms - self.now_ms()) / 1000)
        return self._loop.call_later(delay, callback)
