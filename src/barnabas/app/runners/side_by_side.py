"""Workers that handle records of different keys side by side; those of one key stay in order.

A worker goes on for as long as there is work, and wakes another one when it begins: that one gets
its turn when the first one waits. So quick functions run in one worker, without a change of task or
thread for each record. A second thread begins only when the first one does not keep up for a
moment.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from barnabas.app.attempts import Attempts
from barnabas.app.cancelled import Cancelled, failure_of
from barnabas.app.handler import Handler
from barnabas.app.logs import current_handler, current_message
from barnabas.app.ports import Source
from barnabas.app.runners.keyed_work import KeyedWork
from barnabas.app.runners.result_delivery import ResultDelivery
from barnabas.records.message import Message
from barnabas.tracing import is_tracing

_RAMP_S = 0.002

Failure = tuple[Message, Exception]


class Workers:
    """Of one handler. `recover` is given a record that has failed, and returns when it is done."""

    def __init__(
        self,
        handler: Handler,
        source: Source,
        attempts: Attempts,
        executor: ThreadPoolExecutor | None,
        recover: Callable[[Message, Exception], Awaitable[None]],
    ) -> None:
        self._handler = handler
        self._source = source
        self._attempts = attempts
        self._executor = executor
        self._recover = recover
        self._statistics = handler.statistics
        self._is_plain = attempts.is_plain and not is_tracing()
        self._idle: list[asyncio.Future[None]] = []
        self._is_waking = False
        self._is_stopping = False
        self._loop = asyncio.get_running_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self.work = KeyedWork(several_topics=len(handler.topics) > 1)
        self.current: list[Message | None] = [None] * handler.concurrency
        """What each worker is handling."""
        self.failure: BaseException | None = None
        """What ends the handler."""

    def start(self, results: ResultDelivery) -> None:
        """Begin to wait for work; results of the handler are sent by `results`."""
        self._results = results
        self._tasks = [asyncio.ensure_future(self._run(slot)) for slot in range(len(self.current))]

    async def stop(self) -> None:
        self._is_stopping = True
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def fail(self, error: BaseException) -> None:
        """The handler ends because of this, unless something else has ended it before."""
        self.failure = self.failure or error

    async def wake(self) -> None:
        """Let workers begin: one at once, others while there is work that none has taken."""
        count = 1
        while self.failure is None and self.work.is_ready and self._idle:
            for _ in range(min(count, len(self._idle))):
                self._idle.pop().set_result(None)
            count *= 2
            await asyncio.sleep(0 if self._executor is None else _RAMP_S)

    async def _run(self, slot: int) -> None:
        in_thread = self._is_plain and not self._handler.invocation.is_async
        drain = self._drain_in_thread if in_thread else self._drain
        try:
            while True:
                while self.work.is_ready and self.failure is None:
                    failure = await drain(slot)
                    if failure is not None:
                        await self._recover(*failure)
                        self._finish(failure[0], slot)
                idle: asyncio.Future[None] = self._loop.create_future()
                self._idle.append(idle)
                await idle
                self._is_waking = False
        except asyncio.CancelledError:
            if not self._is_stopping:  # the handler has cancelled its own task
                self._end(slot, Cancelled())
            raise
        except Exception as error:  # noqa: BLE001 - raised by the runner
            self._end(slot, error)

    def _end(self, slot: int, error: Exception) -> None:
        self.fail(error)
        message = self.current[slot]
        if message is not None:
            self.work.abandon(message)
        self.current[slot] = None

    async def _drain_in_thread(self, slot: int) -> Failure | None:
        if self._executor is None:
            return self._call_ready(slot)
        return await self._loop.run_in_executor(self._executor, self._call_ready, slot)

    def _call_ready(self, slot: int) -> Failure | None:
        call, results = self._handler.invocation.call, self._handler.results
        current_handler.set(self._handler.name)
        set_current, observe = current_message.set, self._statistics.seconds.observe
        message = self._begin(slot)
        began = perf_counter()
        while message is not None:
            set_current(message)
            try:
                result = call(message)
                if results is not None:
                    self._results.send_from_thread(result, message, is_done=True)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - of any handler
                return message, failure_of(error, in_thread=True)
            ended = perf_counter()
            observe(ended - began)
            began = ended
            message = self._go_on(message, slot, marks=results is None)
        return None

    async def _drain(self, slot: int) -> Failure | None:
        is_plain, results = self._is_plain, self._handler.results
        current_handler.set(self._handler.name)
        call = self._handler.invocation.call if is_plain else self._attempts.attempt
        set_current, observe = current_message.set, self._statistics.seconds.observe
        message = self._begin(slot)
        began = perf_counter()
        while message is not None:
            if self._idle and not self._is_waking and self.work.is_ready:
                self._is_waking = True
                self._idle.pop().set_result(None)  # it begins when this one waits
            set_current(message)
            try:
                result = await call(message)
                if results is not None:
                    await self._results.send(result, message, is_done=True)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - of any handler
                return message, failure_of(error)
            if is_plain:
                ended = perf_counter()
                observe(ended - began)
                began = ended
            message = self._go_on(message, slot, marks=results is None)
        return None

    def _begin(self, slot: int) -> Message | None:
        message = None if self.failure is not None else self.work.next()
        self.current[slot] = message
        return message

    def _go_on(self, message: Message, slot: int, *, marks: bool) -> Message | None:
        """A record is done; the next one for this worker, if there is one."""
        if marks:
            self._source.done(message)
        self._statistics.handled += 1
        following = None
        if self.failure is None:
            following = self.work.finish_and_next(message)
        else:
            self.work.finish(message)
        self.current[slot] = following
        return following

    def _finish(self, message: Message, slot: int) -> None:
        """The same for one that has failed, and is stored elsewhere by now."""
        self._source.done(message)
        self._statistics.handled += 1
        self.work.finish(message)
        self.current[slot] = None
