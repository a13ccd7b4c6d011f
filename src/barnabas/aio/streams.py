"""Iterators that share one consumer."""

from collections.abc import AsyncIterator, Callable
from typing import Generic, Protocol

from barnabas.client.consumer.streams import StreamQueue, Streams
from barnabas.errors import ClientClosed
from barnabas.formats import SchemaNotLoadedError
from barnabas.records.message import K, Message, V


class WaitForMessages(Protocol):
    """Waits until a stream has messages, and runs the callbacks that are due."""

    async def __call__(self, stream_queue: StreamQueue, /) -> None: ...


class RunBlocking(Protocol):
    """Calls a function that blocks."""

    async def __call__(self, function: Callable[[], object], /) -> None: ...


class Stream(Generic[K, V]):
    """One of the iterators that `Consumer.streams` returns, for one task.

    It waits for new messages, and ends when the consumer is closed.
    """

    def __init__(
        self,
        streams: Streams,
        stream_queue: StreamQueue,
        wait_for_messages: WaitForMessages,
        run: RunBlocking,
    ) -> None:
        self._streams = streams
        self._queue = stream_queue
        self._wait_for_messages = wait_for_messages
        self._run = run

    async def __aiter__(self) -> AsyncIterator[Message[K, V]]:
        take, stream_queue = self._streams.next, self._queue
        while True:
            try:
                message = take(stream_queue)
            except SchemaNotLoadedError as needed:
                await self._run(needed.load)
                continue
            if message is not None:
                yield message
                continue
            try:
                await self._wait_for_messages(stream_queue)
            except ClientClosed:
                return
