"""Recompresses batches as the topic's `compression.type` requires, in threads.

The same threads check batches that are too large to be decompressed on the event loop: the loop
decompresses up to `budget` in one turn.

The batches of one request may decompress to so many bytes in all, on the loop and in the threads
(`RequestBudget`). Further ones are refused, and producers send them again.

Batches of one partition are passed on in order of arrival, including those that need no
recompression: producers number their batches, and a connection is ordered. Waiting batches are
copies; their total size is limited. A batch beyond that is refused, in its turn as well: only then
the producer's later batches can be held back. A batch whose compression fails unexpectedly is
refused, and those behind it go on.
"""

import logging
from asyncio import AbstractEventLoop, Future
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.partition import Partition
from barnabas.broker.runtime.request_budget import EXCEEDED, RequestBudget
from barnabas.records.batch import COMPRESSION_MASK, HEADER_SIZE, Buffer, parse_header
from barnabas.records.decompression_budget import OverBudget, TurnBudget
from barnabas.records.errors import InvalidBatch
from barnabas.records.recompress import CompressionTarget, recompressed
from barnabas.records.validate import CheckedBatch, validate_batch
from barnabas.wire.errors import ErrorCode

logger = logging.getLogger(__name__)

_MAX_WAITING_BYTES = 128 << 20
_MAX_WAITING_CHECKS = 64
"""Batches that wait only to be checked, of all connections in equal shares: each may take a thread
50 ms."""
_MOST_CHECKS = 4 * _MAX_WAITING_CHECKS
"""Of many connections together: a share is at least one batch, and what others had before stays."""
_BUDGET_BYTES = 32 << 20
"""Decompressed in one turn of the event loop: 50 ms at most, if all records are tiny."""


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

REQUEST_TOO_LARGE = NotCompressed(ErrorCode.REQUEST_TIMED_OUT, EXCEEDED, is_retriable=True)
"""Every client retries REQUEST_TIMED_OUT, and the batches that were stored are not in the next
request."""

COMPRESSION_FAILED = NotCompressed(
    ErrorCode.UNKNOWN_SERVER_ERROR,
    "the broker failed to compress the batch; its log has the reason",
    is_retriable=False,
)


class PreparedBatch(NamedTuple):
    """A batch as it is to be stored, checked in a thread."""

    batch: Buffer
    checked: CheckedBatch


Done = Callable[[Buffer | PreparedBatch | NotCompressed], None]
"""Given the batch, or why there is none."""


@dataclass(slots=True)
class _Waiting:
    batch: Buffer
    done: Done
    job: Future[PreparedBatch] | None
    """The thread's future; None if the batch only waits for those before it."""
    refusal: NotCompressed | None = None
    """Why the batch, which is empty here, is refused in its turn."""
    is_check: bool = False
    """Whether it waits only to be checked."""
    sender: object = None


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
        self._checks: Counter[object] = Counter()
        """By the connection that has sent them."""
        self.budget = TurnBudget(_BUDGET_BYTES, loop.call_soon)
        self.queues: dict[Partition, deque[_Waiting]] = {}
        """Waiting batches; if there are none, a batch that needs no recompression is passed on
        directly."""

    def passes(self, partition: Partition, batch: Buffer | None) -> bool:
        """Whether the batch needs no recompression, and no batch before it waits."""
        target = partition.limits.compression
        return (target is None or target.is_met(batch or b"")) and (
            not self.queues or partition not in self.queues
        )

    def when_compressed(
        self,
        partition: Partition,
        batch: Buffer | None,
        done: Done,
        sender: object = None,
        budget: RequestBudget | None = None,
    ) -> None:
        """Call `done` in a later turn with the batch as it is to be stored, or why it can't be.

        `sender` is the connection that it came from, `budget` that of its request.
        """
        target = partition.limits.compression
        batch = batch or b""
        is_met = target is None or target.is_met(batch)
        is_check = is_met and is_compressed(batch)
        queue = self.queues.get(partition)
        refusal: NotCompressed | None = None
        if budget is not None and not budget.left:
            refusal = REQUEST_TOO_LARGE
        elif self._waiting_bytes + len(batch) > self._max_waiting_bytes or (
            is_check and self._has_its_share(sender)
        ):
            refusal = TOO_MANY_WAIT
        if refusal is not None:
            if queue is None:
                done(refusal)
            else:
                queue.append(_Waiting(b"", done, None, refusal))
            return
        copy = bytearray(batch)  # the request's buffer is reused by then
        waiting = _Waiting(copy, done, None, is_check=is_check, sender=sender)
        self._waiting_bytes += len(copy)
        if is_check:
            self._checks[sender] += 1
        if queue is None:
            queue = self.queues[partition] = deque()
        queue.append(waiting)
        if is_check or not is_met:
            work = partial(_prepare, copy, None if is_met else target, partition.limits, budget)
            waiting.job = self._loop.run_in_executor(self._threads, work)
            waiting.job.add_done_callback(lambda _: self._hand_on(partition))

    def _has_its_share(self, sender: object) -> bool:
        """Whether no more batches of a connection may wait to be checked.

        A connection that has filled the queue alone leaves room for others: so none can keep them
        from producing.
        """
        own = self._checks.get(sender, 0)
        senders = len(self._checks) + (own == 0)
        return own >= max(1, _MAX_WAITING_CHECKS // senders) or (
            self._checks.total() >= _MOST_CHECKS
        )

    def close(self) -> None:
        """Drop what waits: it is not acknowledged, and nothing may be appended after this."""
        self.queues.clear()

    def _hand_on(self, partition: Partition) -> None:
        queue = self.queues.get(partition)
        while queue and (queue[0].job is None or queue[0].job.done()):
            first = queue.popleft()
            if not queue:
                del self.queues[partition]
            self._waiting_bytes -= len(first.batch)
            if first.is_check:
                self._checks[first.sender] -= 1
                if not self._checks[first.sender]:
                    del self._checks[first.sender]
            if first.job is None:
                first.done(first.refusal or first.batch)
            elif not first.job.cancelled():
                first.done(self._outcome(partition, first.job))

    def _outcome(
        self, partition: Partition, job: Future[PreparedBatch]
    ) -> PreparedBatch | NotCompressed:
        failure = job.exception()
        if failure is None:
            return job.result()
        if isinstance(failure, InvalidBatch):
            return NotCompressed(failure.error_code, failure.message, is_retriable=False)
        if isinstance(failure, OverBudget):
            return REQUEST_TOO_LARGE
        logger.error(
            "cannot compress a batch of %s; it is refused", partition.name, exc_info=failure
        )
        return COMPRESSION_FAILED


def is_compressed(batch: Buffer) -> bool:
    return len(batch) >= HEADER_SIZE and bool(parse_header(batch).attributes & COMPRESSION_MASK)


def _prepare(
    batch: bytearray,
    target: CompressionTarget | None,
    limits: AppendLimits,
    budget: RequestBudget | None,
) -> PreparedBatch:
    """Check a batch, and compress it if there is a target. Runs in a thread; raises
    `InvalidBatch` or `OverBudget`."""
    checked = _checked(batch, limits, budget)
    if target is None:
        return PreparedBatch(batch, checked)
    ready = recompressed(
        batch,
        target,
        max_batch_bytes=limits.max_message_bytes,
        max_decompressed_bytes=limits.max_decompressed_bytes,
    )
    if len(ready) > limits.max_message_bytes:
        return PreparedBatch(ready, _checked(ready, limits, None))  # which says so
    return PreparedBatch(ready, (parse_header(ready), checked[1]))


def _checked(batch: Buffer, limits: AppendLimits, budget: RequestBudget | None) -> CheckedBatch:
    return validate_batch(
        memoryview(batch),
        max_batch_bytes=limits.max_message_bytes,
        max_decompressed_bytes=limits.max_decompressed_bytes,
        budget=budget,
    )
