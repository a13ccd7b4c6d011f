"""Which group or transactional id has a deadline next.

Every key has at most one entry, at or before its earliest deadline. A deadline that is postponed,
as every heartbeat does, leaves the entry where it is: when the entry is due, the caller checks the
key and sets the next one. So a heartbeat costs nothing here, and a key is checked at most once per
session timeout.
"""

from collections.abc import Iterator
from heapq import heappop, heappush


class DeadlineQueue:
    __slots__ = ("_heap", "_set_for_ms")

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._set_for_ms: dict[str, int] = {}
        """The valid entry of each key; other entries on the heap are stale."""

    def set(self, key: str, deadline_ms: int) -> None:
        """Make the key due at `deadline_ms` or earlier."""
        current_ms = self._set_for_ms.get(key)
        if current_ms is None or deadline_ms < current_ms:
            self._set_for_ms[key] = deadline_ms
            heappush(self._heap, (deadline_ms, key))

    def forget(self, key: str) -> None:
        self._set_for_ms.pop(key, None)

    def next_ms(self) -> int | None:
        heap = self._heap
        while heap and self._set_for_ms.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now_ms: int) -> Iterator[str]:
        """Remove and yield the keys that are due, one by one."""
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            _, key = heappop(self._heap)
            del self._set_for_ms[key]
            yield key
