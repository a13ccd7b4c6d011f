"""Writes to the disk: off the event loop, in order, one job at a time.

Writes that arrive while a job runs become the next job, so one sync serves many entries.

When the disk is full, everything waits, and is retried until there is room. Meanwhile this replica
neither votes nor acknowledges anything; it behaves like one with a very slow disk.
"""

import logging
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable
from concurrent.futures import Executor

from barnabas.broker.quorum.storage import NoRoom, QuorumStorage
from barnabas.broker.runtime.clock import Clock
from barnabas.log import StorageError
from barnabas.metrics.histogram import Histogram
from barnabas.raft import Write

logger = logging.getLogger(__name__)

_RETRY_S = 0.5
_REMIND_AFTER = 120
"""The number of attempts, about a minute, after which the full disk is logged again."""


class Writer:
    def __init__(
        self,
        loop: AbstractEventLoop,
        executor: Executor,
        storage: QuorumStorage,
        on_room: Callable[[], None],
        on_durable: Callable[[int], None],
        on_failure: Callable[[StorageError], None],
        clock: Clock,
        times: Histogram,
    ) -> None:
        """`on_room` is called when a full disk has room again, before `on_durable`.

        `on_durable` gets the sequence number of the last durable write, `times` the seconds that
        each job took.
        """
        self._clock = clock
        self._times = times
        self._loop = loop
        self._executor = executor
        self._storage = storage
        self._on_room = on_room
        self._on_durable = on_durable
        self._on_failure = on_failure
        self._waiting: list[Write] = []
        self._job: Future[None] | None = None
        self._retry: TimerHandle | None = None
        self._attempts = 0
        self._is_stopped = False
        self.no_room: str | None = None
        """The error of the full disk, until it has room again."""

    def add(self, writes: list[Write]) -> None:
        self._waiting += writes
        self._begin()

    def _begin(self) -> None:
        is_busy = self._job is not None or self._retry is not None
        if not is_busy and self._waiting and not self._is_stopped:
            writes, self._waiting = self._waiting, []
            self._write(writes)

    def _write(self, writes: list[Write]) -> None:
        self._retry = None
        sequence = writes[-1].sequence
        began = self._clock.steady_s()
        self._job = self._loop.run_in_executor(self._executor, self._storage.write, writes)
        self._job.add_done_callback(lambda job: self._done(job, writes, sequence, began))

    def _done(self, job: "Future[None]", writes: list[Write], sequence: int, began: float) -> None:
        self._job = None
        self._times.observe(self._clock.steady_s() - began)
        if self._is_stopped or job.cancelled():
            return
        error = job.exception()
        if error is None:
            self._has_room()
            self._on_durable(sequence)
            self._begin()
        elif isinstance(error, NoRoom):
            self._lacks_room(str(error))
            self._retry = self._loop.call_later(_RETRY_S, self._write, writes)
        elif isinstance(error, StorageError):
            self._is_stopped = True
            self._on_failure(error)
        else:
            raise error

    def _lacks_room(self, reason: str) -> None:
        if self._attempts % _REMIND_AFTER == 0:
            logger.error("the disk is full; the metadata log waits for space: %s", reason)
        self._attempts += 1
        self.no_room = reason

    def _has_room(self) -> None:
        if self.no_room is not None:
            logger.info("the metadata log has disk space again")
            self._on_room()
        self._attempts = 0
        self.no_room = None

    async def stop(self) -> None:
        """Start no further job, and wait for the running one."""
        self._is_stopped = True
        if self._retry is not None:
            self._retry.cancel()
        if self._job is not None:
            done: Future[None] = self._loop.create_future()
            self._job.add_done_callback(lambda _: done.set_result(None))
            await done
