"""What was handed out of one partition, and what of it is done.

    finished          a record that is not done           reach
       |                          |                         |
  -----+--------------------------+-------------------------+---------- offsets
  done |   done and not done, as `spans` and `done` say     | not handed out

The application's threads write, the core's reads, without a lock: every change is one assignment,
or one call of a list, deque or set, which Python does as a whole. What the core reads may be old,
and is then too small, so that records are read again and never passed over.

Where records finish in order, `finished` says all. Where they need not, `track` notes the offsets
that were handed out and `done` collects those that are done.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence

NOTHING_COMMITTED = -1


class PartitionProgress:
    """Of one partition, from an assignment or a seek backwards on until the next one.

    It only moves forward: an old report changes nothing.

    `reach` has two offsets: the one behind the last record that was handed out, and the one that is
    read next. What lies between them is not delivered, such as transaction markers.
    """

    __slots__ = (
        "_at",
        "_low",
        "committed",
        "done",
        "finished",
        "floor",
        "reach",
        "revoked",
        "spans",
        "start",
        "topic_id",
        "topic_uncertain",
    )

    def __init__(self, position: int, committed: int | None = None) -> None:
        """`committed`: what the group has; by default `position`, so that it is not committed."""
        self.start = position
        self.reach = (position, position)
        self.finished = position
        self.spans: deque[Sequence[int]] = deque()
        self.done: set[int] = set()
        self.committed = position if committed is None else committed
        """What the group knows, or is about to learn from a transaction."""
        self.revoked = False
        """Whether the partition was revoked, or is read again from further back."""
        self.floor = position
        """What lies before it, and was not handed out, shall not be."""
        self.topic_id: bytes | None = None
        """The topic that these offsets belong to, once it is known."""
        self.topic_uncertain = False
        """Whether that topic may be gone: a new one of its name has nothing to do with them."""
        self._low = position
        self._at = 0

    @property
    def position(self) -> int:
        """The offset that is read next."""
        return self.reach[1]

    @property
    def is_unread_start(self) -> bool:
        """Whether the group has committed nothing here, and no record was delivered either."""
        return self.committed == NOTHING_COMMITTED and self.reach[0] == self.start

    def deliver(self, behind: int, next_offset: int) -> None:
        """Records up to `behind` are the application's now; `next_offset` comes after them."""
        before = self.reach
        self.reach = (max(before[0], behind), max(before[1], next_offset))

    def skip_to(self, next_offset: int) -> None:
        """There was nothing to hand out up to `next_offset`."""
        before = self.reach
        self.reach = (before[0], max(before[1], next_offset))

    def finish(self, behind: int) -> None:
        """Everything up to `behind` is done."""
        if behind > self.finished:
            self.finished = behind

    def track(self, offsets: Sequence[int]) -> None:
        """These will be done in any order; they ascend, and none of them was tracked before."""
        self.spans.append(offsets)

    def finish_one(self, offset: int) -> None:
        """One that was tracked is done; saying so twice does no harm."""
        if offset >= self._low:
            self.done.add(offset)

    def untrack(self) -> None:
        """Forget what was tracked and not handed out. Only for the core's thread."""
        behind, spans = self.reach[0], self.spans
        while spans and spans[-1][-1] >= behind:
            last = spans.pop()
            delivered = last[: bisect_left(last, behind)]
            if delivered:
                spans.append(delivered)
            elif not spans:
                self._at = 0

    def smallest_unfinished(self) -> int:
        """What may be committed: everything before it is done. Only for the core's thread."""
        reach = self.reach  # first, since it grows meanwhile
        low = max(self._low, self.finished)
        spans, done = self.spans, self.done
        while spans:
            offsets = spans[0]
            at = self._at
            while at < len(offsets):
                offset = offsets[at]
                if offset in done:
                    done.discard(offset)
                elif offset >= low:
                    self._at, self._low = at, offset
                    return offset
                at += 1
            low = max(low, offsets[-1] + 1)
            spans.popleft()
            self._at = 0
        self._low = low
        return max(low, reach[1]) if low >= reach[0] else low
