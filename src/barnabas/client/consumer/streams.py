"""One subscription for several threads or tasks.

    fetches -> whichever stream has nothing left opens the next batch -> a queue for each stream

By key, messages with the same key go to the same stream, so their order is kept; those without a
key go where there is least to do. By partition, each partition goes to one stream. Streams finish
messages independently of each other; `PartitionProgress` knows what is done.

Queues are bounded all together: a stream that is much slower than the others holds them up in the
end, and not memory.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Literal

from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.consumer.delivery_queue import decode_message
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.consumer.rebalancer import RebalanceEvent
from barnabas.errors import InvalidArgument, UndecodableRecord
from barnabas.formats import SchemaNotLoadedError
from barnabas.records.message import Message

ROOM = 300
"""Messages that may wait for each stream, on average.

It also bounds how far streams get ahead of the slowest, and so what is read again after a crash.
"""

By = Literal["key", "partition"]


class StreamQueue:
    """What belongs to one stream."""

    __slots__ = ("current", "queue")

    def __init__(self) -> None:
        self.queue: deque[tuple[Message, PartitionProgress]] = deque()
        self.current: tuple[Message, PartitionProgress] | None = None
        """What the application is at work on."""


class Streams:
    """Of one subscription, once."""

    def __init__(self, core: ConsumerCore, count: int, by: By) -> None:
        if count < 1:
            raise InvalidArgument(f"streams({count}): there has to be at least one")
        if by not in ("key", "partition"):
            raise InvalidArgument(f'by={by!r} is unknown: it is "key" or "partition"')
        self.stream_queues = [StreamQueue() for _ in range(count)]
        self._crowded = False  # whether a stream waits for others to finish
        self._core = core
        self._mode = core.delivery_queue.mode
        self._deal: Callable[[PartitionProgress, list[Message]], None]
        self._deal = self._by_key if by == "key" else self._by_partition
        self._homes: dict[tuple[str, int], int] = {}
        self._room = ROOM * count
        self._pump = threading.Lock()
        core.delivery_queue.tracks = True
        core.is_at_work = self._is_at_work

    # -- the application's threads -------------------------------------------------------------

    def next(self, stream_queue: StreamQueue) -> Message | None:
        """The next message of a stream; None if there is nothing, or the core waits for us.

        That it is asked for ends the work on the one before.
        """
        current = stream_queue.current
        if current is not None:
            stream_queue.current = None
            if self._mode is CommitMode.AUTO:
                current[1].done.add(current[0].offset)
        delivery_queue = self._core.delivery_queue
        delivery_queue.polls += 1
        while not delivery_queue.interrupted and (stream_queue.queue or self._fill(stream_queue)):
            item = stream_queue.queue.popleft()
            message, progress = item
            if progress.revoked:
                continue
            if message.offset < progress.floor:
                progress.done.add(message.offset)
                continue
            if delivery_queue.decode_key is not None or delivery_queue.decode_value is not None:
                try:
                    message = decode_message(
                        message, delivery_queue.decode_key, delivery_queue.decode_value
                    )
                except (UndecodableRecord, SchemaNotLoadedError):
                    stream_queue.queue.appendleft(item)
                    raise
            stream_queue.current = item
            if self._mode is CommitMode.MANUAL:
                progress.done.add(message.offset)
            if self._crowded and self._has_room():
                self._wake()
            return message
        return None

    def _fill(self, stream_queue: StreamQueue) -> bool:
        """Have something in the queue, if there is anything for it."""
        with self._pump:
            while not stream_queue.queue:
                if not self._has_room():
                    self._crowded = True
                    return False
                batch = self._core.delivery_queue.read_raw()
                if batch is None:
                    return False
                self._deal(*batch)
                self._wake()
        return True

    def _wake(self) -> None:
        """Have those look who wait."""
        self._crowded = False
        if self._core.waiting:
            self._core.notify_threadsafe()

    def _by_key(self, progress: PartitionProgress, messages: list[Message]) -> None:
        stream_queues = self.stream_queues
        count = len(stream_queues)
        for message in messages:
            if message.key is None:
                stream_queue = min(stream_queues, key=lambda each: len(each.queue))
            else:
                stream_queue = stream_queues[hash(message.key) % count]
            stream_queue.queue.append((message, progress))

    def _by_partition(self, progress: PartitionProgress, messages: list[Message]) -> None:
        homes = self._homes
        home = homes.setdefault(messages[0][:2], len(homes) % len(self.stream_queues))
        self.stream_queues[home].queue.extend((message, progress) for message in messages)

    # -- the core's thread ---------------------------------------------------------------------

    async def wait_for_messages(self, stream_queue: StreamQueue) -> RebalanceEvent | None:
        """Wait until there is something for a stream, or for the application."""
        delivery_queue = self._core.delivery_queue
        return await self._core.wait_for_messages(
            None,
            lambda: bool(stream_queue.queue) or (delivery_queue.is_ready and self._has_room()),
            stream_queue,
        )

    def _has_room(self) -> bool:
        return sum(len(each.queue) for each in self.stream_queues) < self._room

    def _is_at_work(self) -> bool:
        return any(each.current is not None for each in self.stream_queues)
