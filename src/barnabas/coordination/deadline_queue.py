"""When which group, or transaction, has to be looked at next.

It is said of groups; transactional ids are looked after in the same way.

Every group has at most one alarm, not later than its earliest deadline. A deadline that moves
away, as every heartbeat moves one, leaves the alarm where it is: when it goes off, the group is
looked at and gets its next alarm. So a heartbeat costs nothing here, and an alarm is at most one
look at the group in every session timeout.
"""

from collections.abc import Iterator
from heapq import heappop, heappush


class DeadlineQueue:
    __slots__ = ("_heap", "_set_for_ms")

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._set_for_ms: dict[str, int] = {}
        """The alarm of each group; what else is on the heap is stale."""

    def set(self, group_id: str, deadline_ms: int) -> None:
        """Go off no later than at `deadline_ms`."""
        current_ms = self._set_for_ms.get(group_id)
        if current_ms is None or deadline_ms < current_ms:
            self._set_for_ms[group_id] = deadline_ms
            heappush(self._heap, (deadline_ms, group_id))

    def forget(self, group_id: str) -> None:
        self._set_for_ms.pop(group_id, None)

    def next_ms(self) -> int | None:
        heap = self._heap
        while heap and self._set_for_ms.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now_ms: int) -> Iterator[str]:
        """Take out the groups whose alarms go off, one by one."""
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            _, group_id = heappop(self._heap)
            del self._set_for_ms[group_id]
            yield group_id
