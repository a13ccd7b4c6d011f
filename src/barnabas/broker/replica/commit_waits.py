"""Requests that wait until appended records are committed."""

from asyncio import AbstractEventLoop, Future, TimerHandle
from collections import deque
from collections.abc import Callable
from math import inf
from sys import float_info

from barnabas.wire.errors import ErrorCode

Done = Callable[[ErrorCode], None]
"""Called once: with NONE when the records are committed, else with the reason why that is not
known."""


class CommitWaits:
    """The waits of one partition, in the order of their offsets, each with a deadline.

    One timer serves them all, and keeps running when no request waits: under load, arming and
    cancelling one for each request would cost more than the rest of the wait.
    """

    __slots__ = ("_due", "_loop", "_timer", "_waiting")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[tuple[int, float, Done]] = deque()
        self._timer: TimerHandle | None = None
        self._due = inf

    def add(self, next_offset: int, timeout_ms: int | None, done: Done) -> None:
        """Wait for `next_offset`, which is the current end of the log, so it never decreases."""
        deadline = inf if timeout_ms is None else self._loop.time() + timeout_ms / 1000
        self._waiting.append((next_offset, deadline, done))
        self._arm(deadline)

    def release(self, high_watermark: int, error: ErrorCode) -> None:
        waiting = self._waiting
        while waiting and waiting[0][0] <= high_watermark:
            waiting.popleft()[2](error)

    def fail(self, error: ErrorCode) -> None:
        """Fail all waits: this node will not learn whether the records are committed."""
        waiting, self._waiting = self._waiting, deque()
        for _, _, done in waiting:
            done(error)
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._due = None, inf

    def _arm(self, deadline: float) -> None:
        if deadline < self._due:
            if self._timer is not None:
                self._timer.cancel()
            self._due = deadline
            self._timer = self._loop.call_at(deadline, self._expire)

    def expire_all(self) -> None:
        """Time out all waits that have a deadline."""
        if self._timer is not None:
            self._timer.cancel()
        self._expire(float_info.max)

    def _expire(self, upto: float | None = None) -> None:
        self._timer, self._due = None, inf
        if upto is None:
            upto = self._loop.time()
        waiting, self._waiting = self._waiting, deque()
        for wait in waiting:
            if wait[1] <= upto:
                wait[2](ErrorCode.REQUEST_TIMED_OUT)
            else:
                self._waiting.append(wait)
        if self._waiting:
            self._arm(min(deadline for _, deadline, _ in self._waiting))


def commit_future(loop: AbstractEventLoop) -> tuple["Future[None]", Done]:
    """A future for one wait, and the callback that completes it.

    It is cancelled if this node will not learn whether the records are committed.
    """
    future: Future[None] = loop.create_future()

    def done(error: ErrorCode) -> None:
        if future.done():
            return
        if error in (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND):
            future.set_result(None)
        else:
            future.cancel()

    return future, done
