"""Runs one handler of single records: reads, dispatches, and marks what is done.

    poll -> a list, in order                 concurrency=1: as a whole, in one thread or task
         -> `Workers`                        otherwise: by key, in as many as are needed

A record is done when its handler has returned and what it sends is delivered, or when it is stored
in a retry topic or among the dead letters. The consumer commits, for each partition, up to the
first record that is not done. Before partitions are revoked, what is being handled is finished.

Plain functions run in threads, many records for each change of thread.
"""

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

from barnabas.app.attempts import Attempts, Stopped
from barnabas.app.cancelled import failure_of
from barnabas.app.handler import Handler
from barnabas.app.letters import Original
from barnabas.app.logs import current_handler, current_message
from barnabas.app.ports import Source
from barnabas.app.runners.result_delivery import ResultDelivery
from barnabas.app.runners.rewinds import Rewinds
from barnabas.app.runners.side_by_side import Workers
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.records.message import Message
from barnabas.tracing import is_tracing

POLL_S = 0.25
_LIST = 500  # records, which is also about what is handled again after a crash


class RecordRunner:
    """Of one handler, from its start until it is stopped."""

    def __init__(
        self,
        handler: Handler,
        source: Source,
        attempts: Attempts,
        executor: ThreadPoolExecutor | None,
    ) -> None:
        self._handler = handler
        self._source = source
        self._attempts = attempts
        self._executor = executor
        self._statistics = handler.statistics
        self._workers = Workers(handler, source, attempts, executor, self._recovered)
        self._work = self._workers.work
        self._current = self._workers.current
        self._results = ResultDelivery(attempts, source, self.original, self._workers.fail)
        self._changed = asyncio.Event()
        self._limit = max(_LIST, 4 * handler.concurrency)
        self._is_plain = attempts.is_plain and not is_tracing()
        self._loop = asyncio.get_running_loop()
        self._held: list[Message] = []
        self.rewinds = Rewinds()
        self.is_paused = False

    @property
    def _failure(self) -> BaseException | None:
        return self._workers.failure

    # -- life ----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until `stop`, or a record fails for good; then it raises."""
        self.rewinds.enter()
        if self._handler.concurrency > 1:
            self._workers.start(self._results)
        try:
            while not self._attempts.stopping.is_set() and self._failure is None:
                await self._turn()
            self._work.discard()
            await self._wait_until(
                lambda: (
                    not any(self._current)
                    and not self._work.is_handling()
                    and (not self._work.size or self._failure is not None)
                )
            )
        finally:
            self.rewinds.end()
            await self._workers.stop()
            await self._results.settled()
        if self._failure is not None and not isinstance(self._failure, Stopped):
            raise self._failure

    def stop(self) -> None:
        """Finish what is being handled, and end."""
        self._attempts.stopping.set()
        self._work.discard()
        self._changed.set()

    async def revoked(self, partitions: list[TopicPartition]) -> None:
        """Others are to read these: finish what is being handled, and forget the rest."""
        names = {(each.topic, each.partition) for each in partitions}
        self._work.discard(names)
        self._held = [each for each in self._held if (each.topic, each.partition) not in names]
        await self._wait_until(
            lambda: (
                not self._is_at_work_on(partitions)
                and not self._work.is_handling(names)
                and (not self._work.holds(names) or self._failure is not None)
            )
        )
        self._work.forget(names)
        await self._results.settled()

    async def lost(self, partitions: list[TopicPartition]) -> None:
        """Others read these already: forget all that was not begun."""
        names = {(each.topic, each.partition) for each in partitions}
        self._work.forget(names)  # nothing of it can be committed
        self._work.discard(names)
        self._held = [each for each in self._held if (each.topic, each.partition) not in names]

    def _is_at_work_on(self, partitions: Collection[TopicPartition]) -> bool:
        return any(
            each is not None and (each.topic, each.partition) in partitions
            for each in self._current
        )

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), 0.02)
            except TimeoutError:
                continue

    async def _turn(self) -> None:
        if self.rewinds.are_asked:
            await self._rewind()
        elif self._held and not self.is_paused:
            messages, self._held = self._held, []
            await self._take(messages)
        else:
            await self._read()

    async def _rewind(self) -> None:
        """Finish what is in hand, and go back."""
        self._held.clear()
        self._work.discard()
        await self._workers.wake()
        await self._wait_until(
            lambda: self._failure is not None or not (any(self._current) or self._work.size)
        )
        await self._results.settled()
        if self._failure is None and not self._attempts.stopping.is_set():
            self._work.forget()
            await self.rewinds.apply(self._source)

    async def _read(self) -> None:
        room = self._limit - self._work.size
        if room < self._limit // 4 and self._handler.concurrency > 1:
            await self._wait_until(
                lambda: (
                    self._work.size < self._limit // 2
                    or self.rewinds.are_asked
                    or self._attempts.stopping.is_set()
                    or self._failure is not None
                )
            )
            return
        messages = await self._source.poll(POLL_S, min(room, _LIST))
        if self._attempts.stopping.is_set():
            return  # they are not done, and will be read again
        if messages and self.is_paused:
            await self._hold(messages)
        elif messages:
            await self._take(messages)

    async def _hold(self, messages: list[Message]) -> None:
        """Keep them until `resume`: to go back, while others are in hand, would forget those."""
        self._held += messages
        found = {TopicPartition(each.topic, each.partition) for each in messages}
        partitions = found & set(self._source.assignment)
        if partitions:
            await self._source.pause(*partitions)
            if not self.is_paused:  # resumed meanwhile
                await self._source.resume(*partitions)

    async def _take(self, messages: list[Message]) -> None:
        self._statistics.in_flight = self._work.size + len(messages)
        if self._handler.concurrency == 1:
            await self._in_order(messages)
        else:
            self._work.add(messages)
            await self._workers.wake()
        self._statistics.in_flight = self._work.size

    # -- one after the other -------------------------------------------------------------------

    async def _in_order(self, messages: list[Message]) -> None:
        """Handle a list; what is done when it ends, or fails, is marked in one go."""
        at = 0
        try:
            while at < len(messages) and not self._attempts.stopping.is_set():
                if self._is_plain and not self._handler.invocation.is_async:
                    at, failure = await self._in_thread(self._call_all, messages, at)
                else:
                    at, failure = await self._await_all(messages, at)
                if failure is not None:
                    self._current[0] = messages[at]
                    await self._recovered(messages[at], failure)
                    at += 1
        except Stopped:
            pass
        finally:
            self._current[0] = None
            undelivered = await self._results.delivered()
            if undelivered is not None:
                at = next(place for place, each in enumerate(messages) if each is undelivered)
            for message in _last_of_each(messages[:at]):
                self._source.done_up_to(message)
            self._statistics.handled += at

    def _call_all(self, messages: list[Message], at: int) -> tuple[int, Exception | None]:
        """Call a plain function with one after the other, in a thread, up to a failure."""
        call, stopping = self._handler.invocation.call, self._attempts.stopping
        results = self._handler.results
        began, first = perf_counter(), at
        failure: Exception | None = None
        current_handler.set(self._handler.name)
        set_current = current_message.set
        try:
            while at < len(messages) and not stopping.is_set():
                set_current(messages[at])
                result = call(messages[at])
                if results is not None:
                    self._results.send_from_thread(result, messages[at])
                at += 1
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - of any handler
            failure = failure_of(error, in_thread=True)
        finally:
            set_current(None)
            self._observe(began, at - first)
        return at, failure

    async def _await_all(self, messages: list[Message], at: int) -> tuple[int, Exception | None]:
        """The same for coroutine functions, and for what has dependencies or middleware."""
        call = self._handler.invocation.call if self._is_plain else self._attempts.attempt
        stopping, results = self._attempts.stopping, self._handler.results
        began, first = perf_counter(), at
        failure: Exception | None = None
        current_handler.set(self._handler.name)
        set_current = current_message.set
        try:
            while at < len(messages) and not stopping.is_set():
                set_current(messages[at])
                self._current[0] = messages[at]
                result = await call(messages[at])
                if results is not None:
                    await self._results.send(result, messages[at])
                at += 1
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - of any handler
            failure = failure_of(error)
        finally:
            set_current(None)
            if self._is_plain:
                self._observe(began, at - first)
        return at, failure

    # -- what both need ------------------------------------------------------------------------

    async def _recovered(self, message: Message, error: Exception) -> None:
        """After a failure: returns when the record is done."""
        await self._attempts.recover(self.original(message), error)

    def original(self, message: Message) -> Original:
        """The record as it was when it was read first."""
        return Original(message)

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self._executor is None:
            return function(*arguments)
        return await self._loop.run_in_executor(self._executor, function, *arguments)

    def _observe(self, began: float, count: int) -> None:
        if count > 0:
            self._statistics.seconds.observe((perf_counter() - began) / count, count)


def _last_of_each(messages: list[Message]) -> Collection[Message]:
    """The last message of each partition."""
    return {(each[0], each[1]): each for each in messages}.values()
