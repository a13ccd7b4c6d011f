"""Runs handlers that take many records at a time: batches, Arrow tables, and transactions.

A round is what one poll returns. It is handled as a whole, and then committed: with its results in
one transaction for `exactly_once=True`, which is rolled back and read again if anything fails.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from barnabas.app.arguments import Takes
from barnabas.app.attempts import Attempts, Stopped
from barnabas.app.handler import Handler
from barnabas.app.letters import Original
from barnabas.app.ports import Source
from barnabas.app.runners.batches import Batches
from barnabas.app.runners.keyed_work import KeyedWork
from barnabas.app.runners.record_runner import POLL_S
from barnabas.app.runners.refusals import Refusals, ResultRefused
from barnabas.app.runners.rewinds import Rewinds
from barnabas.app.runners.table_rows import places_of, rows_of
from barnabas.app.runners.unread import hold, read_again
from barnabas.app.state.handler_states import HandlerStates
from barnabas.app.undelivered import is_of_record
from barnabas.backoff import Backoff
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consequences import Consequence, consequence_of
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    HandlerFailed,
    NotAuthorized,
    ProducerFenced,
    TransactionAborted,
)
from barnabas.quantities import counted
from barnabas.records.message import Message
from barnabas.wire.errors import ErrorCode

_log = logging.getLogger("barnabas.app")
_PAUSES = Backoff(0.5, 10.0)  # after a transaction that was rolled back
_TRIES = 8
_FIRST_ROUND = 16  # records, until it is known how long they take
_STEP = 4
Work = Callable[[], Awaitable[None]]


class RoundRunner:
    """Of one handler, and its states if it has some. The consumer commits nothing by itself."""

    def __init__(
        self,
        handler: Handler,
        source: Source,
        attempts: Attempts,
        states: HandlerStates | None = None,
    ) -> None:
        self._handler = handler
        self._source = source
        self._attempts = attempts
        self.states = attempts.states = states
        self._statistics = handler.statistics
        self._limit = handler.max_batch
        if handler.exactly_once:
            self._limit = min(_FIRST_ROUND, handler.max_batch)
        self._rolled_back = 0  # in a row
        self._refusals = Refusals(attempts, handler)
        self._batches = Batches(handler, attempts, self._refusals)
        self.rewinds = Rewinds()
        self.is_paused = False

    async def run(self) -> None:
        """Until `stop`, or a record fails for good; then it raises."""
        self.rewinds.enter()
        try:
            await self._run()
        finally:
            self.rewinds.end()
            if self.states is not None:
                await self.states.close()

    async def _run(self) -> None:
        while not self._attempts.stopping.is_set():
            try:
                await self.rewinds.apply(self._source)
                if self._handler.takes is Takes.TABLE:
                    await self._table()
                else:
                    await self._records()
            except Stopped:
                return

    def stop(self) -> None:
        """Finish the round, and end."""
        self._attempts.stopping.set()

    async def revoked(self, partitions: list[TopicPartition]) -> None:
        """Nothing is being handled while the consumer is asked for records."""
        self._refusals.drop(partitions)
        if self.states is not None:
            await self.states.release([each.partition for each in partitions])

    async def lost(self, partitions: list[TopicPartition]) -> None:
        """The same."""
        await self.revoked(partitions)

    async def _records(self) -> None:
        if self.states is not None:
            await self._delete_expired(self.states)
        messages = await self._source.poll(POLL_S, self._limit)
        if self.states is not None:
            messages = await self.states.admit(messages)
        if not messages:
            return
        if self.is_paused:
            await hold(self._source, messages, self)
            return
        self._statistics.in_flight = len(messages)

        async def work() -> None:
            await self._handle(messages)

        if self.states is None:
            is_done = await self._round(messages, work)
        else:
            partitions = {each.partition for each in messages}
            is_done = await self._round_with_state(messages, work, self.states, partitions)
        if is_done:
            self._statistics.in_flight = 0
            self._statistics.handled += len(messages)

    async def _delete_expired(self, states: HandlerStates) -> None:
        """Between two rounds: all that was polled is handled, so its offsets may be committed."""
        expired = await states.expired()
        if not expired:
            return

        async def work() -> None:
            for sent in await self._attempts.send(expired):
                states.change(sent.record, sent.receipt)

        partitions = {each.partition for each in expired if each.partition is not None}
        await self._round_with_state([], work, states, partitions)

    async def _round(self, messages: list[Message], work: Work) -> bool:
        """Whether it was committed; otherwise the records come again."""
        if self._handler.exactly_once:
            return await self._in_transaction(messages, work)
        await work()
        await self._attempts.sink.flush()
        await self._source.commit()
        return True

    async def _round_with_state(
        self, messages: list[Message], work: Work, states: HandlerStates, partitions: set[int]
    ) -> bool:
        """The same. What the round has changed counts when all of it is in the changelog."""
        is_done = False
        try:
            if self._handler.exactly_once:
                is_done = await self._in_transaction(messages, work)
                if is_done:
                    await states.keep()
            else:
                await work()
                is_done = await self._is_kept(messages, states)
                if is_done:
                    await self._attempts.sink.flush()
                    await self._source.commit()
        finally:
            if not is_done:
                states.discard(partitions)
        return is_done

    async def _is_kept(self, messages: list[Message], states: HandlerStates) -> bool:
        """Whether the changelog has all changes; if it has refused one, the records come again."""
        try:
            await states.keep()
        except BarnabasError as error:
            is_of_all = isinstance(error, NotAuthorized) or not is_of_record(error)
            if is_of_all or all(states.refused.is_suspect(each) for each in messages):
                raise
            _log.warning("%s: handled again, one by one: %s", self._handler.name, error)
            states.refused.suspect(messages)
            await read_again(self._source, messages)
            return False
        states.refused.forget(messages)
        return True

    async def _in_transaction(self, messages: list[Message], work: Work) -> bool:
        """Whether it was committed; otherwise the records come again."""
        clock = self._attempts.clock
        if self._attempts.use_member is not None:
            await self._attempts.use_member(self._source.membership.member_id)
        began_ms = clock.time_ms()
        self._refusals.begin()
        try:
            async with self._attempts.sink.transaction(self._source):
                await work()
        except (TransactionAborted, ProducerFenced) as error:
            if self._refusals.learn():
                self._rolled_back = 0  # it goes on: what was refused is known now
            await self._repeat(error, len(messages))
            return False
        except ResultRefused as refused:
            _log.warning("%s: rolled back, and read again: %s", self._handler.name, refused)
            return False
        self._rolled_back = 0
        self._refusals.forget(messages)
        if messages:
            self._adapt(len(messages), (clock.time_ms() - began_ms) / 1000)
        return True

    def _adapt(self, count: int, took_s: float) -> None:
        """Have the next round take half of the timeout at most."""
        half_s = self._handler.transaction_timeout_s / 2
        fits = int(count * half_s / took_s) if took_s > 0 else self._handler.max_batch
        self._limit = max(1, min(fits, self._limit * _STEP, self._handler.max_batch))

    async def _repeat(self, error: BarnabasError, count: int) -> None:
        """A few times, each with fewer records, since it may have taken too long.

        What is certainly not the fault of the handler is repeated for as long as it takes.
        """
        if _is_waited_for(error):
            _log.warning("%s: rolled back, and read again: %s", self._handler.name, error)
            await self._attempts.pause(_PAUSES.first)
            return
        self._rolled_back += 1
        if self._rolled_back >= _TRIES:
            raise HandlerFailed(
                f"handler {self._handler.name}: the transaction was rolled back {_TRIES} times in "
                f"a row, the last time with {counted(count, 'record')}: {error}. If the function "
                "takes long, raise transaction_timeout_s, which is "
                f"{self._handler.transaction_timeout_s:g}"
            ) from error
        _log.warning("%s: rolled back, and read again: %s", self._handler.name, error)
        self._limit = max(1, count // _STEP)
        if isinstance(error, ProducerFenced) and self._attempts.renew_sink is not None:
            await self._attempts.renew_sink()
        await self._attempts.pause(_PAUSES.pause(self._rolled_back))

    async def _handle(self, messages: list[Message]) -> None:
        if self._handler.takes is Takes.BATCH:
            await self._batches.handle(messages)
            return
        is_refused = self.states is not None and any(map(self.states.refused.is_suspect, messages))
        if self._handler.concurrency == 1 or self._refusals.are_known or is_refused:
            for message in messages:
                await self._one(message)
            return
        work = KeyedWork(several_topics=len(self._handler.topics) > 1)
        work.add(messages)
        lanes = [asyncio.ensure_future(self._lane(work)) for _ in range(self._handler.concurrency)]
        try:
            await asyncio.gather(*lanes)
        finally:
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)

    async def _lane(self, work: KeyedWork) -> None:
        while (message := work.next()) is not None:
            await self._one(message)
            work.finish(message)

    async def _one(self, message: Message) -> None:
        if self._refusals.is_known(message):
            await self._refusals.handle(
                message, lambda: self._attempts.deliver(message), self._attempts.recover
            )
            return
        try:
            sent = await self._attempts.deliver(message)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises
            sent = await self._attempts.recover(Original(message), error)
        self._refusals.expect((message,), sent)

    # -- tables --------------------------------------------------------------------------------

    async def _table(self) -> None:
        table = await self._source.poll_table(POLL_S)
        if not table.num_rows:
            return
        if self.is_paused:
            await hold(self._source, places_of(table), self)
            return
        name = self._handler.invocation.parameters.value
        assert name is not None
        attempt = 1
        while True:
            try:
                await self._attempts.call_with({name: table})
                break
            except Exception as error:  # noqa: BLE001 - whatever a handler raises
                self._statistics.failed += 1
                if attempt > self._handler.policy.retries:
                    for message in rows_of(table):
                        await self._attempts.give_up(Original(message, attempts=attempt), error)
                    break
            await self._attempts.pause(self._handler.policy.pause_s(attempt))
            self._statistics.retried += 1
            attempt += 1
        await self._attempts.sink.flush()
        await self._source.commit()
        self._statistics.handled += table.num_rows


def _is_waited_for(error: BarnabasError) -> bool:
    """Whether brokers or a rebalance are the reason, and not the time that the handler took."""
    cause = error.__cause__
    if not isinstance(error, TransactionAborted) or not isinstance(cause, BarnabasError):
        return False
    if isinstance(cause, BrokerError) and cause.code is ErrorCode.INVALID_TXN_STATE:
        return False
    return consequence_of(cause) is Consequence.WAITS and not isinstance(cause, ProducerFenced)
