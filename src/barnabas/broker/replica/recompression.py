"""Recompresses batches as the topic's `compression.type` requires, in threads.

Batches of one partition are passed on in order of arrival, including those that need no
recompression: producers number their batches, and a connection is ordered. Waiting batches are
copies; their total size is limited. A batch beyond that is refused, in its turn as well: only then
the producer's later batches can be held back. A batch whose compression fails unexpectedly is
refused, and those behind it go on.
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
    """The thread's future; None if the batch only waits for those before it."""
    refusal: NotCompressed | None = None
    """Why the batch, which is empty here, is refused in its turn."""


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
        """Waiting batches; if there are none, a batch that needs no recompression is passed on
        directly."""

    def when_compressed(self, partition: Partition, batch: Buffer | None, done: Done) -> None:
        """Call `done` with the batch as it is to be stored, or why it can't be; at once if it needs
        no recompression and no batch before it waits."""
        target = partition.limits.compression
        batch = batch or b""
        is_met = target is None or target.is_met(batch)
        queue = self.queues.get(partition)
        if is_met and queue is None:
            done(batch)
            return
        if self._waiting_bytes + len(batch) > self._max_waiting_bytes:
            if queue is None:
                done(TOO_MANY_WAIT)
            else:
                queue.append(_Waiting(b"", done, None, TOO_MANY_WAIT))
            return
        copy = bytearray(batch)  # the request's buffer is reused by then
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
                first.done(first.refusal or first.batch)
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
