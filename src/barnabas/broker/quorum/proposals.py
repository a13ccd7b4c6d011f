"""Proposals that wait to be committed, in the order of the log."""

from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Callable


class Proposals:
    """Proposals of one epoch: when that ends, their outcome is unknown."""

    __slots__ = ("_loop", "_waiting")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[tuple[int, Future[None]]] = deque()

    def add(self, end_offset: int) -> "Future[None]":
        """Done when everything before `end_offset`, the current log end, is committed."""
        outcome: Future[None] = self._loop.create_future()
        self._waiting.append((end_offset, outcome))
        return outcome

    def committed(self, end_offset: int) -> None:
        while self._waiting and self._waiting[0][0] <= end_offset:
            _, outcome = self._waiting.popleft()
            if not outcome.done():
                outcome.set_result(None)

    def fail(self, error: Callable[[], Exception]) -> None:
        while self._waiting:
            _, outcome = self._waiting.popleft()
            if not outcome.done():
                outcome.set_exception(error())
                outcome.exception()  # retrieved here, as the future need not be awaited
