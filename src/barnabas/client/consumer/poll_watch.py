"""Notices an application that asks for no messages any more: it hangs, or has forgotten us."""

import asyncio
from collections.abc import Callable

from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.records.message import Message

_LOOKS = 10  # in each interval


class PollWatch:
    """Of one consumer. Asking for messages, and waiting for them, is a sign of life."""

    def __init__(
        self,
        delivery_queue: DeliveryQueue,
        is_waiting: Callable[[], bool],
        interval_ms: int,
        monotonic: Callable[[], float],
    ) -> None:
        self._delivery_queue = delivery_queue
        self._is_waiting = is_waiting
        self._interval_s = interval_ms / 1000
        self._monotonic = monotonic

    async def silence(self) -> None:
        """Wait until there was none for a whole interval."""
        seen, since = self._signs(), self._monotonic()
        while self._monotonic() - since < self._interval_s:
            await asyncio.sleep(self._interval_s / _LOOKS)
            signs = self._signs()
            if signs != seen or self._is_waiting():
                seen, since = signs, self._monotonic()

    def _signs(self) -> tuple[int, Message | None]:
        return self._delivery_queue.polls, self._delivery_queue.current
