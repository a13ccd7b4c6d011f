"""Flushes topics that set `flush.*`, with group commit.

One flush of a partition runs at a time, on another thread. The next flush covers what is appended
meanwhile, so many small writes share few flushes.
"""

import logging
from asyncio import AbstractEventLoop, Future, TimerHandle, sleep
from concurrent.futures import Executor

from barnabas.broker.replica.partition import Partition
from barnabas.broker.runtime.clock import Clock
from barnabas.log import FlushJob, StorageError
from barnabas.metrics.histogram import DELAYS_S, Histogram

logger = logging.getLogger(__name__)


class Flusher:
    """Decides when a partition is flushed, and does it."""

    def __init__(self, loop: AbstractEventLoop, executor: Executor, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._executor = executor
        self._timers: dict[Partition, tuple[int, TimerHandle]] = {}
        """The deadline and its timer."""
        self._running: dict[Future[None], None] = {}
        self.times = Histogram(DELAYS_S)
        """Of each flush, with its wait for a thread."""

    def appended(self, partition: Partition) -> None:
        """Called after every append to a partition whose topic sets `flush.*`.

        Also called when that setting has changed.
        """
        if partition.log.flusher.lacks_mark or partition.log.flusher.is_due(self._clock.now_ms()):
            self.flush(partition)
        else:
            self._arm(partition)

    def flush(self, partition: Partition) -> None:
        """Start a flush unless one is running."""
        self._disarm(partition)
        if partition.deleted:
            return
        try:
            job = partition.log.flusher.prepare()
        except StorageError as error:
            self._failed(partition, error)
            return
        if job is None:
            if partition.log.failure is not None:  # so none will come
                partition.flush_waits.cancel()
            return
        began = self._clock.steady_s()
        future = self._loop.run_in_executor(self._executor, job.run)
        self._running[future] = None
        future.add_done_callback(lambda done: self._finished(done, partition, job, began))

    def _finished(
        self, done: Future[None], partition: Partition, job: FlushJob, began: float
    ) -> None:
        self._running.pop(done, None)
        self.times.observe(self._clock.steady_s() - began)
        if partition.deleted:
            return
        try:
            partition.log.flusher.complete(job)
        except StorageError as error:
            self._failed(partition, error)
            return
        partition.flushed()
        if partition.flush_required:
            self.appended(partition)

    def _failed(self, partition: Partition, error: StorageError) -> None:
        logger.error("%s-%d could not be flushed: %s", partition.topic, partition.index, error)
        partition.give_up()
        partition.offline()

    def _arm(self, partition: Partition) -> None:
        deadline_ms = partition.log.flusher.deadline_ms
        if deadline_ms is None:
            return
        armed = self._timers.get(partition)
        if armed is not None and armed[0] <= deadline_ms:
            return
        self._disarm(partition)
        delay = max(0.0, (deadline_ms - self._clock.now_ms()) / 1000)
        timer = self._loop.call_later(delay, self.flush, partition)
        self._timers[partition] = (deadline_ms, timer)

    def _disarm(self, partition: Partition) -> None:
        armed = self._timers.pop(partition, None)
        if armed is not None:
            armed[1].cancel()

    async def close(self) -> None:
        """Wait for running flushes; closing the logs flushes the rest."""
        for partition in tuple(self._timers):
            self._disarm(partition)
        while self._running:  # one that ends may start another
            await next(iter(self._running))
            await sleep(0)  # one that is done stays there until its callback has run
