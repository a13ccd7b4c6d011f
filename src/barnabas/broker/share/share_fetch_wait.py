"""A long poll for records that can be acquired.

It is over with the first attempt that finds something, or after `max_wait_ms`, when it is answered
with what there is. Each attempt acquires: there is no time between finding records and having them.
"""

from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable, Sequence

from barnabas.broker.share.led_share_partition import LedSharePartition
from barnabas.wire.message import Response


class ShareFetchWait:
    def __init__(
        self,
        loop: AbstractEventLoop,
        max_wait_ms: int,
        partitions: Sequence[LedSharePartition],
        attempt: Callable[[LedSharePartition | None], Response | None],
    ) -> None:
        """`attempt` is called with the partition that something is new of, and returns the answer,
        or None if there is nothing to say yet; with None it always answers."""
        self.answer: Future[Response] = loop.create_future()
        self._attempt = attempt
        self._partitions = partitions
        self._timer: TimerHandle = loop.call_later(max_wait_ms / 1000, self.finish)
        self.answer.add_done_callback(self._done)
        for each in partitions:
            each.add_waiter(self)

    @property
    def is_over(self) -> bool:
        return self.answer.done()

    def try_complete(self, led: LedSharePartition) -> bool:
        return self._try(led)

    def finish(self) -> None:
        """Answer now: the time is up, or there is another reason."""
        self._try(None)

    def _try(self, led: LedSharePartition | None) -> bool:
        if self.answer.done():
            return True
        response = self._attempt(led)
        if response is None:
            return False
        self.answer.set_result(response)
        return True

    def _done(self, _: object) -> None:
        """It was answered, or the client has disconnected."""
        self._timer.cancel()
        for each in self._partitions:
            each.remove_waiter(self)
