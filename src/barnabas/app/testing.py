"""`App.test`: the handlers of an application in memory, with a clock that the test advances.

    with app.test() as run:
        run.send("orders", Order(1, 2.5), key="ada")
        run.advance("30s")
        assert run.values("invoices", Invoice) == [Invoice(1)]

The handlers run as they do in production, in an event loop in a separate thread, so tests may be
plain functions or coroutines. Each call returns when there is nothing left to do until the next
record is sent or the clock is advanced.
"""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from barnabas.app.memory_topics import MemoryTopics, TestClock
from barnabas.app.outgoing import encode_anything
from barnabas.app.running import Running
from barnabas.app.values.model_values import loaded
from barnabas.client.durations import Duration, seconds
from barnabas.client.producer.dead_letters import HEADER_PREFIX
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message
from barnabas.records.record import Header

if TYPE_CHECKING:
    from barnabas.app.app import App

T = TypeVar("T")
_QUIET = 30  # turns of the loop in which nothing happened


@dataclass(frozen=True)
class Letter:
    """A dead letter: the original record, its partition and offset, and the reason."""

    message: Message
    topic: str
    offset: int
    reason: str
    attempts: int


class TestRun:
    """A test run; topics start empty."""

    __test__ = False  # for pytest, which takes it for a test by its name

    def __init__(self, app: "App") -> None:
        self._app = app
        self._clock = TestClock()
        self._topics = MemoryTopics(self._clock)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="barnabas-app-test", daemon=True
        )
        self._running: Running | None = None
        self._registry = ExitStack()

    def __enter__(self) -> Self:
        self._registry.enter_context(self._app.values.in_memory())
        self._running = Running(self._app, self._topics, self._clock, in_threads=False)
        self._app._running = self._running
        self._thread.start()
        try:
            self._wait(self._start(self._running))
        except BaseException as error:  # `__exit__` is not called after a failed `__enter__`
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    async def _start(self, running: Running) -> None:
        await running.start()
        await self._settle()

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._running is not None
        self._app._running = None
        try:
            self._wait(self._running.stop())
        except Exception:
            if error is None and not self._reported:
                raise
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._registry.close()

    _reported = False

    # -- what happens --------------------------------------------------------------------------

    def send(
        self, topic: str, value: Any, key: Any = None, *, headers: Sequence[Header] = ()
    ) -> None:
        """Send a record and wait until it is handled. Values are encoded according to their type.

        Raises the error of a failed handler without dead letters.
        """

        async def send() -> None:
            data = await loaded(partial(self._app.values.encode, topic, value))
            self._topics.append(topic, data, encode_anything(key), headers)
            await self._settle()

        self._wait(send())
        self._raise_failure()

    def advance(self, duration: Duration) -> None:
        """Advance the clock; pauses and timers that are due until then end one after the other."""
        until_ms = self._clock.now_ms + round(seconds(duration, "advance") * 1000)

        async def advance() -> None:
            while self._clock.wake_next(until_ms):
                await self._settle()
            self._clock.now_ms = max(self._clock.now_ms, until_ms)
            await self._settle()

        self._wait(advance())
        self._raise_failure()

    # -- what has come of it -------------------------------------------------------------------

    def records(self, topic: str) -> list[Message]:
        """The records of a topic, with key and value as bytes."""
        return list(self._topics.records.get(topic, ()))

    def values(self, topic: str, kind: type[T]) -> list[T]:
        """The values of a topic, decoded to a type."""
        decode = self._app.values.decoder(kind, "kind")
        return [decode(each.value) for each in self.records(topic)]

    def state(self, handler: str, key: str | bytes) -> Any:
        """The value that a handler keeps for a key; None if there is none."""
        return self._wait(self._app.read_state(handler, key))

    def dead_letters(self, topic: str) -> list[Letter]:
        """The dead letters of a topic."""
        found = []
        for each in self.records(topic):
            said = {name: (value or b"").decode("utf-8", "replace") for name, value in each.headers}
            if f"{HEADER_PREFIX}topic" not in said:
                raise InvalidArgument(f"offset {each.offset} of {topic} is not a dead letter")
            found.append(
                Letter(
                    each,
                    said[f"{HEADER_PREFIX}topic"],
                    int(said[f"{HEADER_PREFIX}offset"]),
                    said[f"{HEADER_PREFIX}reason"],
                    int(said.get(f"{HEADER_PREFIX}deliveries", "0")),
                )
            )
        return found

    # -- the loop ------------------------------------------------------------------------------

    async def _settle(self) -> None:
        quiet = 0
        while quiet < _QUIET:
            if self._is_busy():
                quiet = 0
                await asyncio.sleep(0.001)
            else:
                quiet += 1
                await asyncio.sleep(0)

    def _is_busy(self) -> bool:
        assert self._running is not None
        return (
            any(each.active for each in self._running.attempts)
            or any(each.is_busy for each in self._running.schedulers)
            or any(each.restoring or each.are_expiring for each in self._running.states)
            or any(each.is_polling and each.has_unread for each in self._topics.sources)
            or any(each.is_polling and each.has_unread for each in self._topics.queues)
        )

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _raise_failure(self) -> None:
        assert self._running is not None
        failure = self._running.failure()
        if failure is not None:
            self._reported = True
            raise failure
