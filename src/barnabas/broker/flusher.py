"""Flushing topics that ask for it, with group commit.

One flush of a partition is under way at a time, on another thread; whatever is appended
meanwhile is covered by the next one, so many small writes share few flushes.
"""

import logging
from asyncio import AbstractEventLoop, Future, TimerHandle
from concurrent.futures import Executor

from barnabas.broker.clock import now_ms
from barnabas.broker.partition import Partition
from barnabas.log import FlushJob, StorageError

logger = logging.getLogger(__name__)


class Flusher:
    """Decides when a partition is flushed, and does it."""

    def __init__(self, loop: AbstractEventLoop, executor: Executor) -> None:
        self._loop = loop
        self._executor = executor
        self._timers: dict[Partition, TimerHandle] = {}
        self._running: set[Future[None]] = set()

    def appended(self, partition: Partition) -> None:
        """Called after every append to a partition whose topic sets `flush.*`."""
        if partition.log.flush_due(now_ms()):
            self.flush(partition)
        else:
            self._arm(partition)

    def flush(self, partition: Partition) -> None:
        """Start a flush unless one is under way."""
        timer = self._timers.pop(partition, None)
        if timer is not None:
            timer.cancel()
        if partition.deleted:
            return
        job = partition.log.prepare_flush()
        if job is None:
            return
        future = self._loop.run_in_executor(self._executor, job.run)
        self._running.add(future)
        future.add_done_callback(lambda done: self._finished(done, partition, job))

    def _finished(self, done: Future[None], partition: Partition, job: FlushJob) -> None:
        self._running.discard(done)
        if partition.deleted:
            return
        try:
            partition.log.complete_flush(job)
        except StorageError as error:
            logger.error("%s-%d could not be flushed: %s", partition.topic, partition.index, error)
            return
        partition.flushed()
        if partition.flush_required:
            self.appended(partition)

    def _arm(self, partition: Partition) -> None:
        deadline = partition.log.flush_deadline_ms
        if deadline is None or partition in self._timers:
            return
        delay = max(0.0, (deadline - now_ms()) / 1000)
        self._timers[partition] = self._loop.call_later(delay, self.flush, partition)

    async def close(self) -> None:
        """Wait for what is under way; closing the logs flushes the rest."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for future in tuple(self._running):
            await future
