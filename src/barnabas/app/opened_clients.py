"""What a running application has opened, and closes again: clients, and threads for functions."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from barnabas.app.dependencies import RunSync
from barnabas.app.handler import Handler
from barnabas.app.ports import Connections, Delayed, Jobs, Sink, Source
from barnabas.errors import BarnabasError

HANDLER_THREADS = "barnabas-app-"
"""How the names of threads begin that call plain functions."""


_CLOSE_S = 5.0  # for what is replaced because it has failed


async def close_soon(client: Sink | Source | Jobs) -> None:
    """Close one that has failed, or that nothing waits for, within a few seconds."""
    with suppress(BarnabasError, TimeoutError):  # it has failed before, and says so again
        async with asyncio.timeout(_CLOSE_S):
            await client.close()


class OpenedClients:
    """Of all handlers. `in_threads` is false in tests, where functions run in the loop."""

    def __init__(self, connections: Connections, *, in_threads: bool) -> None:
        self._connections = connections
        self._in_threads = in_threads
        self._sources: list[Source] = []
        self._sinks: list[Sink] = []
        self._queues: list[Jobs] = []
        self._delayed: list[Delayed] = []
        self._executors: list[ThreadPoolExecutor] = []

    def keep_source(self, source: Source) -> None:
        self._sources.append(source)

    def keep_jobs(self, jobs: Jobs) -> None:
        self._queues.append(jobs)

    def sink(self, handler: Handler | None = None, transactional_id: str | None = None) -> Sink:
        """A producer for a handler; None: for what belongs to none."""
        if handler is None:
            sink = self._connections.sink()
        else:
            sink = self._connections.sink(
                transactional_id=transactional_id if handler.exactly_once else None,
                transaction_timeout_s=handler.transaction_timeout_s,
            )
        self._sinks.append(sink)
        return sink

    def delayed(self, topics: Sequence[str]) -> Delayed:
        """What moves the delayed records of topics."""
        self._delayed.append(self._connections.delayed(topics))
        return self._delayed[-1]

    async def drop_sink(self, sink: Sink) -> None:
        """Close a producer that another one replaces: what it has not sent is made again."""
        self._sinks.remove(sink)
        await close_soon(sink)

    async def drop_source(self, source: Source | Jobs) -> None:
        """Close a consumer or a queue that another one replaces."""
        self._sources = [each for each in self._sources if each is not source]
        self._queues = [each for each in self._queues if each is not source]
        await close_soon(source)

    def executor(self, handler: Handler) -> ThreadPoolExecutor | None:
        """The threads of a plain function; None for a coroutine function, and in tests."""
        if not self._in_threads or handler.invocation.is_async:
            return None
        executor = ThreadPoolExecutor(handler.concurrency, f"{HANDLER_THREADS}{handler.name}")
        self._executors.append(executor)
        return executor

    def run_sync(self, executor: ThreadPoolExecutor | None) -> RunSync:
        """Calls plain functions in these threads; None stands for those of the event loop."""

        async def run(function: Callable[..., Any], *arguments: Any) -> Any:
            if not self._in_threads:
                return function(*arguments)
            loop = asyncio.get_running_loop()
            in_context = copy_context().run  # with the span and the record, as the log has them
            return await loop.run_in_executor(executor, in_context, _call, function, *arguments)

        return run

    async def close(self) -> list[BarnabasError]:
        """Close all; returns what went wrong."""
        failures = []
        clients: list[Sink | Source | Jobs | Delayed] = [*self._queues, *self._sources]
        clients += [*self._delayed, *self._sinks]
        for client in clients:
            try:
                await client.close()
            except BarnabasError as error:
                failures.append(error)
        for executor in self._executors:
            executor.shutdown(wait=False)
        return failures


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """No future can hold a StopIteration: whoever waited for it would wait for ever."""
    try:
        return function(*arguments)
    except StopIteration as error:
        raise RuntimeError("the function raised StopIteration") from error
