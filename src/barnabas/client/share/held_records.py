"""The records that this member has locked, buffered or in the hands of the application.

`prefetch` bounds them: it is shared out among the leaders, at least one record for each. Records
that wait for a delayed release do not count, up to `MAX_DELAYED` of them.
"""

from collections import Counter
from collections.abc import Iterator

from barnabas.client.share.queue_message import QueueMessage
from barnabas.client.share.share_session import SharePartition

MAX_DELAYED = 1_000
"""While more wait for a delayed release, no records are fetched."""


class HeldRecords:
    """Of one member."""

    def __init__(self, prefetch: int) -> None:
        self.prefetch = prefetch
        self._held: dict[tuple[SharePartition, int], QueueMessage] = {}
        self._by_node: Counter[int] = Counter()
        self._delayed = 0

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[QueueMessage]:
        return iter(list(self._held.values()))

    def add(self, message: QueueMessage) -> None:
        """It was acquired. One that this member had before is a lock that was lost."""
        self._forget(self._held.get((message.source, message.offset)))
        self._held[message.source, message.offset] = message
        self._by_node[message.node_id] += 1

    def discard(self, message: QueueMessage) -> None:
        """It is settled, or its lock is lost."""
        if self.find(message) is message:
            self._forget(message)

    def drop(self, message: QueueMessage) -> None:
        """Its lock is lost, and the application has not got it."""
        message.close_once()
        self.discard(message)

    def find(self, message: QueueMessage) -> QueueMessage | None:
        """The one that has the record's lock now: this message, or a later delivery of it."""
        return self._held.get((message.source, message.offset))

    def relock(
        self, source: SharePartition, offset: int, *, node_id: int, deadline: float, now: float
    ) -> bool:
        """Whether the application has the record already. A new session has locked it again, so it
        keeps the record with the new lock. One whose lock has expired it does not keep: a worker
        that hangs would never give it back."""
        message = self._held.get((source, offset))
        if message is None or not message.is_delivered or message.deadline <= now:
            return False
        if not message.is_delayed:
            self._by_node[message.node_id] -= 1
            self._by_node[node_id] += 1
        message.node_id = node_id
        message.deadline = deadline
        return True

    def delay(self, message: QueueMessage) -> None:
        """It waits for its release, and makes room for another one."""
        message.is_delayed = True
        self._by_node[message.node_id] -= 1
        self._delayed += 1

    def is_held(self, node_id: int) -> bool:
        """Whether records of a leader are held that do not wait for their release."""
        return self._by_node[node_id] > 0

    def room(self, node_id: int, leaders: int) -> int:
        """How many records may be fetched from a leader, of so many."""
        if self._delayed >= MAX_DELAYED:
            return 0
        return max(0, self.share(leaders) - self._by_node[node_id])

    def share(self, leaders: int) -> int:
        """How many records may be held of each leader."""
        return max(1, self.prefetch // max(1, leaders))

    def _forget(self, message: QueueMessage | None) -> None:
        if message is None:
            return
        del self._held[message.source, message.offset]
        if message.is_delayed:
            self._delayed -= 1
        else:
            self._by_node[message.node_id] -= 1
