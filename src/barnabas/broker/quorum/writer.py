"""The way of writes to the disk: off the loop, in order, one job at a time.

What is to be written while a job runs becomes the next job, so one sync serves many entries.
"""

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from concurrent.futures import Executor

from barnabas.broker.quorum.storage import QuorumStorage
from barnabas.log import StorageError
from barnabas.raft import Write


class Writer:
    def __init__(
        self,
        loop: AbstractEventLoop,
        executor: Executor,
        storage: QuorumStorage,
        on_durable: Callable[[int], None],
        on_failure: Callable[[StorageError], None],
    ) -> None:
        """`on_durable` gets the sequence of the last write that is durable."""
        self._loop = loop
        self._executor = executor
        self._storage = storage
        self._on_durable = on_durable
        self._on_failure = on_failure
        self._waiting: list[Write] = []
        self._job: Future[None] | None = None
        self._is_stopped = False

    def add(self, writes: list[Write]) -> None:
        self._waiting += writes
        self._begin()

    def _begin(self) -> None:
        if self._job is not None or not self._waiting or self._is_stopped:
            return
        writes, self._waiting = self._waiting, []
        self._job = self._loop.run_in_executor(self._executor, self._storage.write, writes)
        self._job.add_done_callback(lambda job: self._done(job, writes[-1].sequence))

    def _done(self, job: "Future[None]", sequence: int) -> None:
        self._job = None
        if self._is_stopped or job.cancelled():
            return
        error = job.exception()
        if error is None:
            self._on_durable(sequence)
            self._begin()
        elif isinstance(error, StorageError):
            self._is_stopped = True
            self._on_failure(error)
        else:
            raise error

    async def stop(self) -> None:
        """Begin nothing more, and wait for what is under way."""
        self._is_stopped = True
        if self._job is not None:
            done: Future[None] = self._loop.create_future()
            self._job.add_done_callback(lambda _: done.set_result(None))
            await done
