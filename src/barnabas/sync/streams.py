"""Iterators that share one consumer."""

# Made from ../aio/streams.py by `make sync`: change it there.

from collections.abc import Iterator
from typing import Generic, Protocol

from barnabas.client.consumer.streams import StreamQueue, Streams
from barnabas.errors import ClientClosed
from barnabas.records.message import K, Message, V


class WaitForMessages(Protocol):
    """Waits until a stream has messages, and runs the callbacks that are due."""

    def __call__(self, stream_queue: StreamQueue, /) -> None: ...


class Stream(Generic[K, V]):
    """One of the iterators that `Consumer.streams` returns, for one thread.

    It waits for new messages, and ends when the consumer is closed.
    """

    def __init__(
        self, streams: Streams, stream_queue: StreamQueue, wait_for_messages: WaitForMessages
    ) -> None:
        self._streams = streams
        self._queue = stream_queue
        self._wait_for_messages = wait_for_messages

    def __iter__(self) -> Iterator[Message[K, V]]:
        take, stream_queue = self._streams.next, self._queue
        while True:
            message = take(stream_queue)
            if message is not None:
                yield message
                continue
            try:
                self._wait_for_messages(stream_queue)
            except ClientClosed:
                return
