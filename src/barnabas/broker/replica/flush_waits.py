"""Waiting for the next flush of a log."""

from asyncio import AbstractEventLoop, Future


class FlushWaits:
    """Futures of the next successful flush, cancelled if one fails or none comes."""

    __slots__ = ("_futures", "_loop")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._futures: list[Future[None]] = []

    def next(self) -> "Future[None]":
        future: Future[None] = self._loop.create_future()
        self._futures.append(future)
        return future

    def release(self) -> None:
        """The log was flushed, or what they wait for is gone."""
        futures, self._futures = self._futures, []
        for future in futures:
            if not future.done():
                future.set_result(None)

    def cancel(self) -> None:
        futures, self._futures = self._futures, []
        for future in futures:
            future.cancel()
