"""The result of one batch of records, and its waiters, in any thread or loop.

A batch is settled as a whole, once: there is no future for each record. Only one that a broker
finds too large is cut, and then its parts end each in their own way; it counts as settled when the
last of them is.

Waiting for a record makes its batch leave at once: lingering is for batches without waiters.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any

from barnabas.client.outcome import Outcome
from barnabas.errors import BarnabasError


class DeliveryOutcome:
    """The end of `count` records from index `first` on: where they are, or why they are not."""

    __slots__ = ("base_offset", "count", "error", "first", "log_append_time_ms", "seen")

    def __init__(
        self,
        first: int,
        count: int,
        *,
        base_offset: int = -1,
        log_append_time_ms: int = -1,
        error: BarnabasError | None = None,
    ) -> None:
        self.first = first
        self.count = count
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.error = error
        self.seen = False  # whether it was reported


class BatchResult:
    """The end of one batch. `settle` belongs to the producer's loop; all else is thread-safe.

    `hurry` is called when a caller waits.
    """

    __slots__ = ("_callbacks", "_futures", "_hurry", "_lock", "_outcomes", "_parts", "_settled")

    def __init__(self, hurry: Callable[[], None]) -> None:
        self._hurry: Callable[[], None] | None = hurry
        self._parts = 1
        self._outcomes: list[DeliveryOutcome] = []
        self._lock = Lock()
        self._settled: Outcome[None] | None = None
        self._futures: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        self._callbacks: list[tuple[Callable[[Any], object], Any]] = []

    @property
    def done(self) -> bool:
        return self._parts == 0

    def outcome_of(self, index: int) -> DeliveryOutcome:
        """What became of one record, once all is settled."""
        for outcome in self._outcomes:
            if outcome.first <= index < outcome.first + outcome.count:
                return outcome
        raise AssertionError(f"record {index} was never settled")

    # -- waiting -------------------------------------------------------------------------------

    def wait(self, timeout_s: float | None) -> None:
        """Block until all is settled; TimeoutError if that takes longer."""
        with self._lock:
            if self.done:
                return
            if self._settled is None:
                self._settled = Outcome()
            settled, hurry = self._settled, self._hurry
        if hurry is not None:
            hurry()
        if not settled.wait(timeout_s):
            raise TimeoutError(f"the record was not delivered in {timeout_s} s; it may still be")

    def future(self) -> "asyncio.Future[None]":
        """Is done in the running loop when all is settled."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if self.done:
                future.set_result(None)
                return future
            self._futures.setdefault(loop, []).append(future)
            hurry = self._hurry
        if hurry is not None:
            hurry()
        return future

    def call_when_done(self, callback: Callable[[Any], object], argument: Any) -> None:
        """Have this called in the producer's loop; at once, by the caller, if all is settled."""
        with self._lock:
            if not self.done:
                self._callbacks.append((callback, argument))
                return
        callback(argument)

    # -- the producer's loop -------------------------------------------------------------------

    def split(self) -> None:
        """One of the parts is cut in two."""
        self._parts += 1

    def settle(self, outcome: DeliveryOutcome) -> None:
        """A part is done; with the last one, all waiters are notified."""
        with self._lock:
            self._outcomes.append(outcome)
            self._parts -= 1
            if self._parts:
                return
            callbacks, futures, settled = self._callbacks, self._futures, self._settled
            self._hurry = None
            self._callbacks = []
            self._futures = {}
        if settled is not None:
            settled.set()
        for loop, waiting in futures.items():
            with suppress(RuntimeError):  # the loop is closed, with its waiters
                loop.call_soon_threadsafe(_release, waiting)
        if callbacks:
            here = asyncio.get_running_loop()
            for callback, argument in callbacks:
                here.call_soon(callback, argument)  # which reports what they raise


def _release(waiting: "list[asyncio.Future[None]]") -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)
