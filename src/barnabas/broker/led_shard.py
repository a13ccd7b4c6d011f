"""The groups of one partition of `__consumer_offsets`, for as long as this node leads it.

It has the decisions of a `GroupShard` persisted, answers who waits for them, and keeps time.

    loading --> serving --> over
       |                     ^
       '-----> damaged ------'

Decisions whose records are appended and not yet committed are in flight, in the order of the log,
and are replayed in that order. When the shard is over, because somebody else leads the partition
or it leads it in a newer epoch, every one of them fails: whether its records survive is for the
next leader's log to say, and who waits has to ask there.
"""

from asyncio import AbstractEventLoop, Future, TimerHandle
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from barnabas.broker.clock import Clock
from barnabas.broker.partition import Partition
from barnabas.coordination.decision import Decision, Record, Reply
from barnabas.groups import GroupShard
from barnabas.log import StorageError
from barnabas.records.batch import parse_header
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode

_SWEEP_AFTER_S = 600


@dataclass(slots=True)
class InFlight:
    """A decision whose records end before `next_offset`, and until when to wait for them."""

    next_offset: int
    deadline_ms: int
    decision: Decision


class LedShard:
    __slots__ = (
        "_clock",
        "_commit_timeout_ms",
        "_deleted_topics",
        "_in_flight",
        "_loop",
        "_overdue",
        "_refusal",
        "_sweep_timer",
        "_timer",
        "_topics",
        "_waiter",
        "groups",
        "is_over",
        "leader_epoch",
        "partition",
    )

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
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.groups = groups
        self.is_over = False
        self._loop = loop
        self._clock = clock
        self._commit_timeout_ms = commit_timeout_ms
        self._topics = topics
        self._refusal = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self._in_flight: deque[InFlight] = deque()
        self._waiter: Future[None] | None = None
        """For the first decision in flight; the others wait behind it."""
        self._deleted_topics: set[str] = set()
        """Those that were deleted while it was loading."""
        self._timer: TimerHandle | None = None
        self._sweep_timer: TimerHandle | None = None
        self._overdue: TimerHandle | None = None

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
        """Why its groups can't be served; NONE if they can."""
        return self._refusal if self.leads else ErrorCode.NOT_COORDINATOR

    # -- its life ----------------------------------------------------------------------------------

    def serve(self) -> None:
        """All is replayed and committed: groups live on from there, sessions begin anew."""
        self.groups.loaded(self.now_ms())
        self._refusal = ErrorCode.NONE
        self._carry_out(self.groups.topics_deleted(self._deleted_topics))
        self._deleted_topics.clear()
        self._sweep_timer = self._loop.call_later(_SWEEP_AFTER_S, self._sweep)

    def damaged(self) -> None:
        """What is stored can't be read, so nothing may be said about these groups."""
        self.groups.unload()
        self._refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE

    def end(self) -> None:
        """Answer everybody who waits; what is in flight has failed as far as anybody knows here."""
        self.is_over = True
        for timer in (self._timer, self._overdue, self._sweep_timer):
            if timer is not None:
                timer.cancel()
        self._send(self.groups.unload(ErrorCode.NOT_COORDINATOR))
        self._fail_all(ErrorCode.NOT_COORDINATOR)

    # -- deciding ----------------------------------------------------------------------------------

    def decide(self, decide: Callable[["Future[Any]"], Decision]) -> "Future[Any]":
        """Have `decide` called with a token, and return what will hold the response."""
        token: Future[Any] = self._loop.create_future()
        self._carry_out(decide(token))
        return token

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

    def _carry_out(self, decision: Decision) -> None:
        self._persist(decision)
        self._advance()

    def _persist(self, decision: Decision) -> None:
        """Send what may be sent at once, append what has to be kept."""
        while True:
            self._send(decision.replies)
            if not decision.records:
                return
            if not self.leads:
                error = ErrorCode.NOT_COORDINATOR
            else:
                try:
                    next_offset = self._append(decision.records)
                except StorageError as refusal:  # by the disk, or for want of replicas
                    self.partition.log_refusal(refusal, self.now_ms())
                    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
                else:
                    deadline_ms = self.now_ms() + self._commit_timeout_ms
                    self._in_flight.append(InFlight(next_offset, deadline_ms, decision))
                    return
            decision = self.groups.failed(decision, error, now_ms=self.now_ms())

    def _append(self, records: list[Record]) -> int:
        time_ms = self._clock.now_ms()
        batch = encode_batch([(time_ms, key, value, ()) for key, value in records])
        info = self.partition.append_internal(batch, parse_header(batch), time_ms)
        return info.last_offset + 1

    def _advance(self) -> None:
        """Replay what is committed by now, in the order of the log, and wait for the rest."""
        if not self.leads:
            return  # the partition's offsets are somebody else's now, and `end` will come
        in_flight = self._in_flight
        while in_flight and in_flight[0].next_offset <= self.partition.high_watermark:
            decision = in_flight.popleft().decision
            self._persist(self.groups.committed(decision, now_ms=self.now_ms()))
        if in_flight and self._waiter is None:
            waiter = self.partition.committed(in_flight[0].next_offset)
            assert waiter is not None
            waiter.add_done_callback(self._moved)
            self._waiter = waiter
            if self._overdue is None:
                self._watch_for_overdue()
        self._arm()

    def _moved(self, waiter: "Future[None]") -> None:
        self._waiter = None
        if self.is_over:
            return
        if waiter.cancelled():
            self._fail_all(
                ErrorCode.COORDINATOR_NOT_AVAILABLE if self.leads else ErrorCode.NOT_COORDINATOR
            )
        self._advance()

    def _fail_all(self, error: ErrorCode) -> None:
        in_flight, self._in_flight = self._in_flight, deque()
        for each in in_flight:
            self._persist(self.groups.failed(each.decision, error, now_ms=self.now_ms()))

    def _send(self, replies: list[Reply]) -> None:
        for token, response in replies:
            assert isinstance(token, Future)
            if not token.done():  # the client may have gone, or have been told that it takes long
                token.set_result(response)

    # -- time --------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Have the groups' clock looked at when their next deadline comes."""
        deadline_ms = self.groups.next_deadline_ms()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ms is not None:
            self._timer = self._at(deadline_ms, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._carry_out(self.groups.tick(self.now_ms()))

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
