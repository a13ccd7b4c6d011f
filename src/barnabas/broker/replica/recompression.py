"""Compresses batches as their topic wants them (`compression.type`), in threads.

Batches of one partition are handed on in the order in which they came, also those that need
nothing: a producer numbers them, and a connection is a line. Batches that wait are copies; there is
a limit to all of them together. A batch whose compression fails unexpectedly is refused, and those
behind it go on.
"""

import logging
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from barnabas.broker.replica.partition import Partition
from barnabas.records.batch import Buffer
from barnabas.records.recompress import recompressed
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_MAX_WAITING_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class NotCompressed:
    """Why a batch can't be stored."""

    error_code: ErrorCode
    message: str
    is_retriable: bool


TOO_MANY_WAIT = NotCompressed(
    ErrorCode.REQUEST_TIMED_OUT,
    "too many batches wait to be compressed; try again",
    is_retriable=True,
)

COMPRESSION_FAILED = NotCompressed(
    ErrorCode.UNKNOWN_SERVER_ERROR,
    "the broker failed to compress the batch; its log has the reason",
    is_retriable=False,
)

Done = Callable[[Buffer | NotCompressed], None]
"""Given the batch, or why there is none."""


@dataclass(slots=True)
class _Waiting:
    batch: Buffer
    done: Done
    job: Future[Buffer] | None
    """The thread's; None if the batch only waits for those before it."""


class Recompression:
    def __init__(
        self,
        loop: AbstractEventLoop,
        threads: Executor,
        max_waiting_bytes: int = _MAX_WAITING_BYTES,
    ) -> None:
        self._loop = loop
        self._threads = threads
        self._max_waiting_bytes = max_waiting_bytes
        self._waiting_bytes = 0
        self.queues: dict[Partition, deque[_Waiting]] = {}
        """What waits; if nothing does, batches that need nothing may go past."""

    def when_compressed(self, partition: Partition, batch: Buffer | None, done: Done) -> None:
        """Have `done` called with the batch as it is to be stored; at once if nothing is to do."""
        target = partition.limits.compression
        batch = batch or b""
        is_met = target is None or target.is_met(batch)
        queue = self.queues.get(partition)
        if is_met and queue is None:
            done(batch)
            return
        if self._waiting_bytes + len(batch) > self._max_waiting_bytes:
            done(TOO_MANY_WAIT)
            return
        copy = bytearray(batch)  # the frame is gone by then
        waiting = _Waiting(copy, done, None)
        self._waiting_bytes += len(copy)
        if queue is None:
            queue = self.queues[partition] = deque()
        queue.append(waiting)
        if target is not None and not is_met:
            limits = partition.limits
            compress = partial(
                recompressed,
                copy,
                target,
                max_batch_bytes=limits.max_message_bytes,
                max_decompressed_bytes=limits.max_decompressed_bytes,
            )
            waiting.job = self._loop.run_in_executor(self._threads, compress)
            waiting.job.add_done_callback(lambda _: self._hand_on(partition))

    def _hand_on(self, partition: Partition) -> None:
        queue = self.queues.get(partition)
        while queue and (queue[0].job is None or queue[0].job.done()):
            first = queue.popleft()
            if not queue:
                del self.queues[partition]
            self._waiting_bytes -= len(first.batch)
            if first.job is None:
                first.done(first.batch)
            elif not first.job.cancelled():
                first.done(self._outcome(partition, first.job))

    def _outcome(self, partition: Partition, job: Future[Buffer]) -> Buffer | NotCompressed:
        failure = job.exception()
        if failure is None:
            return job.result()
        logger.error(
            "cannot compress a batch of %s; it is refused", partition.name, exc_info=failure
        )
        return COMPRESSION_FAILED
