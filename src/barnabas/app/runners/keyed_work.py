"""Records that wait and are handled, so that those of one key are handled one after the other.

    add -> ready -> next -> being handled -> finish
             ^                                 |
             +----- the next one of its key ---+

A key is known while a record of it is ready or being handled. Records without a key wait for
nothing. Several threads may take part.
"""

import threading
from collections import deque
from collections.abc import Collection, Hashable, Sequence

from barnabas.records.message import Message

_ALONE: deque[Message] = deque()  # no other record of the key waits; it stays empty


class KeyedWork:
    """Of one handler."""

    def __init__(self, several_topics: bool = False) -> None:
        self.size = 0
        """Records that are not finished."""
        self._ready: deque[Message] = deque()
        self._waiting: dict[Hashable, deque[Message]] = {}
        self._reached: dict[tuple[str, int], int] = {}  # the largest offset that was begun
        self._handling: dict[tuple[str, int], int] = {}  # how many were begun, and not finished
        self._lock = threading.Lock()
        self._several_topics = several_topics

    @property
    def is_ready(self) -> bool:
        """Whether a record could be handled now."""
        return bool(self._ready)

    def _key_of(self, message: Message) -> Hashable:
        key: Hashable = message[4]
        return (message[0], key) if self._several_topics and key is not None else key

    def add(self, messages: Sequence[Message]) -> None:
        waiting, ready, several = self._waiting, self._ready, self._several_topics
        with self._lock:
            self.size += len(messages)
            for message in messages:
                key: Hashable = message[4]
                if key is None:
                    ready.append(message)
                    continue
                if several:
                    key = (message[0], key)
                queue = waiting.get(key)
                if queue is None:
                    waiting[key] = _ALONE
                    ready.append(message)
                elif queue is _ALONE:
                    waiting[key] = deque((message,))
                else:
                    queue.append(message)

    def next(self) -> Message | None:
        """One to handle now; None if all others wait for records that are being handled."""
        with self._lock:
            return self._next()

    def finish(self, message: Message) -> None:
        """It is over, and the next one of its key may be handled."""
        with self._lock:
            self._finish(message)

    def finish_and_next(self, message: Message) -> Message | None:
        """Both at once, for a worker that goes on."""
        with self._lock:
            self._finish(message)
            return self._next()

    def _next(self) -> Message | None:
        if not self._ready:
            return None
        message = self._ready.popleft()
        where = (message[0], message[1])
        if message[2] > self._reached.get(where, -1):
            self._reached[where] = message[2]
        self._handling[where] = self._handling.get(where, 0) + 1
        return message

    def abandon(self, message: Message) -> None:
        """It is not being handled any more, and not done: those of its key go on waiting."""
        with self._lock:
            self._handling[message[0], message[1]] -= 1

    def _finish(self, message: Message) -> None:
        self.size -= 1
        self._handling[message[0], message[1]] -= 1
        key: Hashable = message[4]
        if key is None:
            return
        if self._several_topics:
            key = (message[0], key)
        queue = self._waiting.pop(key)
        if queue:
            self._ready.append(queue.popleft())
            self._waiting[key] = queue or _ALONE

    def discard(self, partitions: Collection[tuple[str, int]] | None = None) -> None:
        """Forget what was not begun, of these partitions or of all.

        What lies before a record that was begun stays: without it, that one could not be committed
        and would be handled again.
        """
        with self._lock:
            ready, self._ready = self._ready, deque()
            self._ready.extend(each for each in ready if not self._is_behind(each, partitions))
            self.size -= len(ready) - len(self._ready)
            freed = [self._key_of(each) for each in ready if self._is_behind(each, partitions)]
            for key, queue in self._waiting.items():
                left = deque(each for each in queue if not self._is_behind(each, partitions))
                self.size -= len(queue) - len(left)
                self._waiting[key] = left or _ALONE
            for key in freed:
                queue = _ALONE if key is None else self._waiting.pop(key)
                if queue:
                    self._ready.append(queue.popleft())
                    self._waiting[key] = queue or _ALONE

    def _is_behind(self, message: Message, partitions: Collection[tuple[str, int]] | None) -> bool:
        where = (message[0], message[1])
        if partitions is not None and where not in partitions:
            return False
        return message[2] > self._reached.get(where, -1)

    def is_handling(self, partitions: Collection[tuple[str, int]] | None = None) -> bool:
        """Whether a record of these partitions, or of any, was begun and is not finished."""
        with self._lock:
            return any(
                count > 0 and (partitions is None or where in partitions)
                for where, count in self._handling.items()
            )

    def holds(self, partitions: Collection[tuple[str, int]]) -> bool:
        """Whether a record of these partitions waits."""
        with self._lock:
            return any((each[0], each[1]) in partitions for each in self._ready) or any(
                (each[0], each[1]) in partitions
                for queue in self._waiting.values()
                for each in queue
            )

    def forget(self, partitions: Collection[tuple[str, int]] | None = None) -> None:
        """These, or all, may be read again from further back."""
        with self._lock:
            for each in [*self._reached] if partitions is None else partitions:
                self._reached.pop((each[0], each[1]), None)
