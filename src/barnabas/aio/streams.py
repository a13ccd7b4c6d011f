"""Iterators that share one consumer."""

from collections.abc import AsyncIterator
from typing import Protocol

from barnabas.client.consumer.streams import StreamQueue, Streams
from barnabas.errors import ClientClosed
from barnabas.records.message import Message


class Attend(Protocol):
    """Waits until there is something for a stream, and tells the application what it has to."""

    async def __call__(self, lot: StreamQueue, /) -> None: ...


class Stream:
    """One of the iterators that `Consumer.streams` gives, for one task.

    It waits for new messages, and ends when the consumer is closed.
    """

    def __init__(self, streams: Streams, lot: StreamQueue, attend: Attend) -> None:
        self._streams = streams
        self._lot = lot
        self._attend = attend

    async def __aiter__(self) -> AsyncIterator[Message]:
        take, lot = self._streams.next, self._lot
        while True:
            message = take(lot)
            if message is not None:
                yield message
                continue
            try:
                await self._attend(lot)
            except ClientClosed:
                return
