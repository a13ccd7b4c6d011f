"""What the application wants done with its records, on its way to the leaders, and their answers.

`settle`, `finish` and `fail` are called from any thread: what they want done is put into
`_commands`, and carried out by the loop. Everything else runs in the loop.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from barnabas.backoff import Backoff
from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.results.result_record import JobResult
from barnabas.client.results.result_sends import ResultSends
from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.acknowledgements import (
    PendingAcknowledgement,
    PendingAcknowledgements,
    TakenAcknowledgements,
)
from barnabas.client.share.dead_letters import DeadLetters
from barnabas.client.share.delivery_limit import LEAST_LIMIT, DeliveryLimit
from barnabas.client.share.held_records import HeldRecords
from barnabas.client.share.leader_session import LeaderSession
from barnabas.client.share.queue_message import Acknowledgement, QueueMessage
from barnabas.client.share.retry_policy import RetryPolicy
from barnabas.client.share.share_session import SharePartition
from barnabas.errors import BarnabasError, BrokerError, ClientClosed, InvalidArgument, LockLost
from barnabas.quantities import counted

MAX_DELAY_S = 900.0

_FINAL = (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT)
_STORE_AGAIN = Backoff(0.5, 30.0)

_log = logging.getLogger("barnabas.client")


class SettlementOwner(Protocol):
    """What a settlement needs of its queue."""

    group_id: str
    is_stopped: bool
    held: HeldRecords
    pending: PendingAcknowledgements

    def wake_leader(self, partition: SharePartition) -> None:
        """Something of this partition is to be acknowledged."""

    def wake(self, node_id: int) -> None:
        """There is room for more records of this leader."""


class _Command(NamedTuple):
    message: QueueMessage
    kind: AcknowledgeType
    delay_s: float
    reason: str | None
    answer: Acknowledgement
    result: bytes | None


class Settlement:
    """Of one member of a share group. `loop` is set before the first record is handed out."""

    def __init__(
        self,
        owner: SettlementOwner,
        tasks: BackgroundTasks,
        monotonic: Callable[[], float],
        retries: RetryPolicy,
        dead_letters: DeadLetters | None,
        results: ResultSends | None,
        limit: DeliveryLimit,
    ) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._owner = owner
        self._tasks = tasks
        self._monotonic = monotonic
        self._retries = retries
        self._dead_letters = dead_letters
        self._results = results
        self._limit = limit
        self._commands: deque[_Command] = deque()
        self._is_draining = False
        self.is_closed = False
        """Whether nothing is sent any more."""
        self._unanswered: set[Acknowledgement] = set()
        self._kept: dict[QueueMessage, Acknowledgement] = {}
        """Locked until something has happened: a pause is over, or a dead letter is stored."""
        self._is_closing = False
        """Whether nothing is kept any longer."""

    # -- the application's threads -------------------------------------------------------------

    def settle(
        self,
        message: QueueMessage,
        kind: AcknowledgeType,
        *,
        delay_s: float = 0,
        reason: str | None = None,
        result: object = None,
        encoded: bytes | None = None,
    ) -> Acknowledgement:
        """Acknowledge a record, and return what its answer can be waited for with."""
        if not 0 <= delay_s <= MAX_DELAY_S:
            raise InvalidArgument(
                f"delay={delay_s:g}: it must be from 0 to {MAX_DELAY_S:g} seconds, since the "
                "worker keeps the record locked that long; for longer delays, see the pattern "
                "of delayed delivery"
            )
        answer = Acknowledgement()
        if result is not None:
            encoded = self._encoded(message, result)
        if kind is not AcknowledgeType.RENEW and not message.close_once():
            raise InvalidArgument(f"{message!r} was accepted, released or rejected already")
        self._commands.append(_Command(message, kind, delay_s, reason, answer, encoded))
        if not self._is_draining:
            self._is_draining = True
            try:
                assert self.loop is not None
                self.loop.call_soon_threadsafe(self.drain)
            except RuntimeError:  # it has ended
                answer.finish(ClientClosed("the queue is closed, and has released its records"))
        return answer

    def finish(self, message: QueueMessage, result: object = None) -> None:
        """The application is done with it: accept it, unless it has done something else."""
        if not message.is_settled:
            encoded = self._encoded(message, result)  # raises what the application has to know
            with suppress(InvalidArgument):  # settled by another thread
                self.settle(message, AcknowledgeType.ACCEPT, encoded=encoded)

    def _encoded(self, message: QueueMessage, result: object) -> bytes | None:
        """Nobody asks for what most handlers return, which is of any type."""
        if result is None or self._results is None or message.continued_by is not None:
            return None
        if self._results.reply_to(message.record) is None:
            return None
        return self._results.encode(result)

    def fail(self, message: QueueMessage, error: BaseException) -> None:
        """Its handler has failed: let it come again later, or be a dead letter."""
        if not message.is_settled:
            with suppress(InvalidArgument):  # settled by another thread
                self.settle(
                    message,
                    AcknowledgeType.RELEASE,
                    delay_s=self._retries.pause_s(message.delivery_count),
                    reason=f"{type(error).__name__}: {error}",
                )

    # -- to the leaders ------------------------------------------------------------------------

    def drain(self) -> None:
        """Carry out all commands so far."""
        self._is_draining = False
        nodes: set[int] = set()
        while self._commands:
            command = self._commands.popleft()
            self.track(command.answer)
            self._carry_out(command)
            nodes.add(command.message.node_id)
        for node_id in nodes:
            self._owner.wake(node_id)

    def track(self, answer: Acknowledgement) -> Acknowledgement:
        """Have `flush` wait for it."""

        def forget(_: object) -> None:
            self._unanswered.discard(answer)

        self._unanswered.add(answer)
        answer.future.add_done_callback(forget)
        return answer

    async def flush(self) -> None:
        """Wait until all acknowledgements so far are answered; failures are in their answers."""
        waiting = [asyncio.wrap_future(each.future) for each in list(self._unanswered)]
        await asyncio.gather(*waiting, return_exceptions=True)

    def _carry_out(self, command: _Command) -> None:
        message, kind, delay_s, reason, answer, result = command
        letters = self._dead_letters
        is_last = message.delivery_count >= self._retries.max_deliveries
        if self.is_closed:
            answer.finish(ClientClosed("the queue is closed, and has released its records"))
        elif message.deadline <= self._monotonic():
            self._owner.held.discard(message)
            self._tell_lost(message, answer, "its lock has expired")
        elif letters is not None and (
            kind is AcknowledgeType.REJECT or (kind is AcknowledgeType.RELEASE and is_last)
        ):
            message.renew_until = float("inf")
            self._tasks.start(self._give_up(letters, message, reason or "rejected", answer))
        elif kind is AcknowledgeType.RELEASE and self._may_be_dropped(message):
            message.renew_until = float("inf")
            self._tasks.start(self._release_last(command))
        elif kind is AcknowledgeType.RELEASE:
            self._release(message, delay_s, answer)
        elif kind in _FINAL and (message.continued_by is not None or self._has_reply(message)):
            message.renew_until = float("inf")
            error = None if kind is AcknowledgeType.ACCEPT else reason or "rejected"
            self._tasks.start(self._conclude(message, kind, JobResult(result, error), answer))
        else:
            self.acknowledge(message, kind, answer)

    def _release(self, message: QueueMessage, delay_s: float, answer: Acknowledgement) -> None:
        if delay_s and not self._owner.is_stopped:
            message.renew_until = float("inf")
            self._keep(message, answer)
            assert self.loop is not None
            self.loop.call_later(delay_s, self._end_keep, message, AcknowledgeType.RELEASE)
        else:
            self.acknowledge(message, AcknowledgeType.RELEASE, answer)

    def _keep(self, message: QueueMessage, answer: Acknowledgement) -> None:
        """It makes room for another one meanwhile."""
        if not self._is_locked(message):
            self._tell_lost(message, answer, "its lock has expired")
        elif self._is_closing:
            self.acknowledge(message, AcknowledgeType.RELEASE, answer)
        else:
            self._owner.held.delay(message)
            self._kept[message] = answer

    def _end_keep(self, message: QueueMessage, kind: AcknowledgeType) -> None:
        """Unless it has ended."""
        answer = self._kept.pop(message, None)
        if answer is None:
            return
        if kind is AcknowledgeType.RELEASE and not self._is_locked(message):
            # The leader would take it for the end of a later lock that this member has.
            self._tell_lost(message, answer, "its lock has expired")
        else:
            self.acknowledge(message, kind, answer)

    def _is_locked(self, message: QueueMessage) -> bool:
        """Whether the lock of this delivery holds, and not that of a later one."""
        is_held = self._owner.held.find(message) is message
        return is_held and message.deadline > self._monotonic()

    def release_kept(self) -> None:
        """Nothing waits any longer: the queue is closed."""
        self._is_closing = True
        for message in list(self._kept):
            self._end_keep(message, AcknowledgeType.RELEASE)

    def _may_be_dropped(self, message: QueueMessage) -> bool:
        """Whether brokers may drop it while somebody waits for its result."""
        if self._dead_letters is not None or message.continued_by is not None:
            return False
        return message.delivery_count >= LEAST_LIMIT and self._has_reply(message)

    async def _release_last(self, command: _Command) -> None:
        """If brokers drop it after this delivery, its submitter gets the reason as the result."""
        message = command.message
        try:
            is_last = await self._limit.is_reached(message.delivery_count)
        except BarnabasError as error:
            _log.warning("whether %r is delivered again is not known: %s", message, error)
            is_last = False
        if is_last:
            times = counted(message.delivery_count, "time")
            reason = f"{command.reason or 'released'}; delivered {times}, and dropped after that"
            try:
                await self._store_result(message, JobResult(error=reason))
            except BarnabasError as error:
                _log.warning("the submitter of %r does not hear that it failed: %s", message, error)
            self.acknowledge(message, AcknowledgeType.REJECT, command.answer)
        else:
            self._release(message, command.delay_s, command.answer)

    def acknowledge(
        self, message: QueueMessage, kind: AcknowledgeType, answer: Acknowledgement | None
    ) -> None:
        """Have it sent to the record's leader."""
        if kind is not AcknowledgeType.RENEW:
            self._owner.held.discard(message)
        self._owner.pending.add(
            message.source, PendingAcknowledgement(message.offset, kind, message, answer)
        )
        self._owner.wake_leader(message.source)

    async def _give_up(
        self, letters: DeadLetters, message: QueueMessage, reason: str, answer: Acknowledgement
    ) -> None:
        """Store a dead letter, then reject the record, which is locked until that is done.

        If it was released instead, brokers would drop it after a few more deliveries.
        """
        is_stored = False

        async def failure() -> BarnabasError | None:
            nonlocal is_stored
            try:
                if not is_stored:
                    await letters.store(message, self._owner.group_id, reason)
                is_stored = True
                await self._store_result(message, JobResult(error=reason))
            except BarnabasError as error:
                return error
            return None

        error = await failure()
        if error is None:
            self.acknowledge(message, AcknowledgeType.REJECT, answer)
            return
        self._keep(message, answer)
        said = ""
        for pause_s in _STORE_AGAIN.pauses():
            if said != str(error):
                said = str(error)
                _log.warning("the dead letter of %r is not stored yet: %s", message, said)
            if message in self._kept:
                await asyncio.sleep(pause_s)
            if message not in self._kept:
                return  # the queue is closed, or the lock was lost
            if not self._is_locked(message):
                self._end_keep(message, AcknowledgeType.RELEASE)
                return
            error = await failure()
            if error is None:
                self._end_keep(message, AcknowledgeType.REJECT)
                return

    async def _conclude(
        self,
        message: QueueMessage,
        kind: AcknowledgeType,
        result: JobResult,
        answer: Acknowledgement,
    ) -> None:
        """Store the result, or what continues the job; if that fails, do the job again."""
        try:
            if message.continued_by is not None:
                await message.continued_by
            else:
                await self._store_result(message, result)
        except BarnabasError as error:
            _log.warning("%r comes again, what came of it could not be stored: %s", message, error)
            again = AcknowledgeType.RELEASE
            pause_s = self._retries.pause_s(message.delivery_count)
            reason = f"what came of the job could not be stored: {error}"
            self._carry_out(_Command(message, again, pause_s, reason, answer, None))
        else:
            self.acknowledge(message, kind, answer)

    async def _store_result(self, message: QueueMessage, result: JobResult) -> None:
        reply = None if self._results is None else self._results.reply_to(message.record)
        if self._results is not None and reply is not None:
            await self._results.store(reply, result)

    def _has_reply(self, message: QueueMessage) -> bool:
        return self._results is not None and self._results.reply_to(message.record) is not None

    def close(self) -> None:
        """Whoever still waits is told that nothing is sent any more."""
        self.is_closed = True
        self.drain()
        for each in list(self._unanswered):
            each.finish(ClientClosed("the queue was closed before a broker has answered"))

    # -- answers -------------------------------------------------------------------------------

    def answered(
        self,
        session: LeaderSession,
        partition: SharePartition,
        taken: list[PendingAcknowledgement],
        error: BrokerError | None,
    ) -> None:
        if error is None:
            for each in taken:
                self._succeed(session, each)
        elif error.retriable:
            self.unanswered({partition: taken})
        elif len(taken) > 1:
            # At least one of them has lost its lock.
            self._owner.pending.add_alone(partition, taken)
        else:
            for each in taken:
                self.lost(each, str(error))

    def unanswered(self, taken: TakenAcknowledgements) -> None:
        """Try again, as long as the locks may hold."""
        now = self._monotonic()
        for partition, all_of in taken.items():
            for each in all_of:
                if each.message is None:
                    continue  # a gap comes again with its record's neighbours
                if each.message.deadline <= now:
                    self.lost(each, "no leader has answered before its lock expired")
                else:
                    self._owner.pending.add(partition, each)

    def _succeed(self, session: LeaderSession, each: PendingAcknowledgement) -> None:
        if each.kind is AcknowledgeType.RENEW and each.message is not None:
            each.message.deadline = session.asked_at + session.lock_ms / 1000
            each.message.is_renewing = False
        elif each.message is not None:
            self._drop_again(each.message)
        if each.answer is not None:
            each.answer.finish(None)

    def _drop_again(self, message: QueueMessage) -> None:
        """The record of an acknowledged message may have come again by another session, while the
        acknowledgement was under way."""
        again = self._owner.held.find(message)
        if again is not None and not again.is_delivered:
            self._owner.held.drop(again)

    def lost(self, each: PendingAcknowledgement, why: str) -> None:
        """It was not acknowledged, and the lock is lost."""
        if each.message is None:
            return
        if each.kind is AcknowledgeType.RENEW:
            each.message.is_renewing = False
            _log.warning("the lock of %r was not renewed: %s", each.message, why)
            if each.answer is not None:
                each.answer.finish(LockLost(f"{each.message!r} was not renewed: {why}"))
        elif each.answer is not None:
            self._tell_lost(each.message, each.answer, why)

    def _tell_lost(self, message: QueueMessage, answer: Acknowledgement, why: str) -> None:
        error = LockLost(
            f"offset {message.offset} of {message.source} was not acknowledged ({why}): it may be "
            "delivered again"
        )
        _log.warning("%s", error)
        answer.finish(error)
