"""What a coordinator keeps in one partition of its topic, for as long as this node leads it.

It has the decisions of a pure shard persisted, answers who waits for them, and keeps time: of
groups in `__consumer_offsets` (`group_coordinator_shard`), of transactions in `__transaction_state`
(`transaction_coordinator_shard`).

    loading --> serving --> over
       |                     ^
       '-----> damaged ------'

Decisions whose records are appended and not yet committed are in flight, in the order of the log,
and are replayed in that order. When the shard is over, because somebody else leads the partition
or it leads it in a newer epoch, every one of them fails: whether its records survive is for the
next leader's log to say, and who waits has to ask there.

A decision may also come without records, with something that others have appended: the marker that
ends a transaction. It has its turn in the order of the log too.
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
    """A decision whose records end before `next_offset`, and until when to wait for them."""

    next_offset: int
    deadline_ms: int
    decision: DecisionT


class CoordinatorShard(ABC, Generic[DecisionT]):
    """The shell of one pure shard. What is particular to a shard is in the subclasses."""

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
        """All records before it are replayed, and none after it."""
        self._loop = loop
        self._clock = clock
        self._commit_timeout_ms = commit_timeout_ms
        self._refusal = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self._in_flight: deque[InFlight[DecisionT]] = deque()
        self._waiter: Future[None] | None = None
        """For the first decision in flight; the others wait behind it."""
        self._progress: Future[None] | None = None
        self._timer: TimerHandle | None = None
        self._overdue: TimerHandle | None = None

    # -- what is particular ------------------------------------------------------------------------

    @property
    @abstractmethod
    def image(self) -> object:
        """The persistent state, as it is replayed up to `replayed_offset`."""

    @abstractmethod
    def replay(self, header: BatchHeader, records: Sequence[StoredRecord]) -> None:
        """Take in a batch that is stored. Raises what the topic's coordinator expects."""

    @abstractmethod
    def _loaded(self) -> None:
        """All is replayed and committed: live on from there."""

    @abstractmethod
    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Reply]:
        """Forget everything; the answers for all who wait."""

    @abstractmethod
    def _committed(self, decision: DecisionT) -> DecisionT:
        """The decision's records are committed; what follows from that."""

    @abstractmethod
    def _failed(self, decision: DecisionT, error: ErrorCode) -> DecisionT:
        """The decision's records are not stored, or nobody here knows; what follows from that."""

    @abstractmethod
    def _tick(self) -> DecisionT:
        """A deadline has come."""

    @abstractmethod
    def _next_deadline_ms(self) -> int | None: ...

    def now_ms(self) -> int:
        return self._clock.steady_ms()

    @property
    def leads(self) -> bool:
        """Whether the partition is still led in the epoch that this shard stands for."""
        partition = self.partition
        return (
            not self.is_over and partition.is_leader and partition.leader_epoch == self.leader_epoch
        )

    @property
    def error(self) -> ErrorCode:
        """Why it can't be served; NONE if it can."""
        return self._refusal if self.leads else ErrorCode.NOT_COORDINATOR

    # -- its life ----------------------------------------------------------------------------------

    def serve(self, loaded_offset: int) -> None:
        """All before `loaded_offset` is replayed and committed: it goes on from there.

        Deadlines begin anew. Markers that were appended while it was loading may be among what was
        replayed.
        """
        in_flight = self._in_flight
        while in_flight and in_flight[0].next_offset <= loaded_offset:
            in_flight.popleft()
        self._refusal = ErrorCode.NONE
        self.replayed_offset = loaded_offset
        self._loaded()

    def damaged(self) -> None:
        """What is stored can't be read, so nothing may be said about it."""
        self.unload()
        self._refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE

    def end(self) -> None:
        """Answer everybody who waits; what is in flight has failed as far as anybody knows here."""
        self.is_over = True
        for timer in (self._timer, self._overdue):
            if timer is not None:
                timer.cancel()
        self._send(self.unload())
        self._fail_all(ErrorCode.NOT_COORDINATOR)
        self._say_progress()

    # -- deciding ----------------------------------------------------------------------------------

    def decide(
        self,
        decide: Callable[["Future[Any]"], DecisionT],
        token: "Future[Any] | None" = None,
    ) -> "Future[Any]":
        """Have `decide` called with a token, and return what will hold the response: the token."""
        if token is None:
            token = self._loop.create_future()
        self._carry_out(decide(token))
        return token

    def progress(self) -> "Future[None]":
        """Done with the next decision that is committed, or when the shard is over.

        Several may wait for it, so it is not to be cancelled.
        """
        if self._progress is None:
            self._progress = self._loop.create_future()
        return self._progress

    def _say_progress(self) -> None:
        progress, self._progress = self._progress, None
        if progress is not None:
            progress.set_result(None)

    def appended(self, decision: DecisionT, next_offset: int) -> None:
        """What `decision` goes with is in the log, before `next_offset`, which is now its end."""
        self._put_in_flight(decision, next_offset)
        self._advance()

    def _carry_out(self, decision: DecisionT) -> None:
        self._persist(decision)
        self._advance()

    def _persist(self, decision: DecisionT) -> None:
        """Send what may be sent at once, append what has to be kept."""
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
                except StorageError as refusal:  # by the disk, or for want of replicas
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
        """Replay what is committed by now, in the order of the log, and wait for the rest."""
        if not self.leads:
            return  # the partition's offsets are somebody else's now, and `end` will come
        if self._refusal is not ErrorCode.NONE:
            return  # what has come before is not replayed yet
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
            # What others have appended is not for this shard to give up.
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
        """Say what may be said at once."""
        self._send(decision.replies)

    def _send(self, replies: list[Reply]) -> None:
        for token, response in replies:
            assert isinstance(token, Future)
            if not token.done():  # the client may have gone, or have been told that it takes long
                token.set_result(response)

    # -- time --------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Have the clock looked at when the next deadline comes."""
        deadline_ms = self._next_deadline_ms()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ms is not None:
            self._timer = self._at(deadline_ms, self._time_is_up)

    def _time_is_up(self) -> None:
        self._timer = None
        self._carry_out(self._tick())

    def _watch_for_overdue(self) -> None:
        if self._in_flight:
            self._overdue = self._at(self._in_flight[0].deadline_ms, self._answer_overdue)

    def _answer_overdue(self) -> None:
        """Tell those who have waited long enough. What they wait for stays in flight.

        Its records are in the log and may yet be committed, so it may not count as failed.
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
