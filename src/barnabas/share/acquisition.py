"""One member acquires records of a share partition: batches of the log are offered to it in order,
and it locks what is free of them.

Records are locked in whole batches of the log, or no more than a limit. A batch that was delivered
too often comes in parts, and alone.
"""

from typing import NamedTuple

from barnabas.share.in_flight_batch import InFlightBatch
from barnabas.share.in_flight_window import InFlightWindow
from barnabas.share.record_state import RecordState
from barnabas.share.share_limits import ShareLimits


class LogBatch(NamedTuple):
    """A batch that was read from the log."""

    first: int
    last: int
    is_deliverable: bool = True
    """False for control records and records of aborted transactions."""


class AcquiredRange(NamedTuple):
    first: int
    last: int
    delivery_count: int


class Acquisition:
    """What is locked so far, and how much more may be."""

    __slots__ = (
        "_acquired",
        "_archived",
        "_batch_size",
        "_fresh",
        "_is_record_limit",
        "_left",
        "_limits",
        "_member_id",
        "_window",
        "is_over",
        "lock_deadline_ms",
    )

    def __init__(
        self,
        window: InFlightWindow,
        member_id: str,
        limits: ShareLimits,
        max_records: int,
        batch_size: int,
        *,
        is_record_limit: bool,
        lock_deadline_ms: int,
    ) -> None:
        self._window = window
        self._member_id = member_id
        self._limits = limits
        self._left = max_records
        self._batch_size = max(1, batch_size)
        self._is_record_limit = is_record_limit
        self.lock_deadline_ms = lock_deadline_ms
        self._acquired: list[InFlightBatch] = []
        self._archived: list[tuple[int, int]] = []
        self._fresh: InFlightBatch | None = None
        """The last batch of the window, if this attempt added it and may extend it."""
        self.is_over = max_records <= 0

    def archive(self, first: int, last: int) -> None:
        """Offsets that can't be delivered: the log lacks them, or they are no records."""
        window = self._window
        for batch in window.cut(first, last):
            if batch.is_available:
                window.free(batch, RecordState.ARCHIVED)
        if last >= window.next_offset:
            window.append(InFlightBatch(window.next_offset, last, RecordState.ARCHIVED))
            self._fresh = None
        self._archived.append((first, last))

    def take(self, first: int, last: int, *, is_deliverable: bool) -> None:
        """Lock what is free of a batch of the log."""
        if not is_deliverable:
            self.archive(first, last)
            return
        window = self._window
        in_window = min(last, window.next_offset - 1)
        if first <= in_window:
            for batch in [
                batch for batch in window.overlapping(first, in_window) if batch.is_available
            ]:
                self._take_again(max(first, batch.first), min(in_window, batch.last), batch)
                if self.is_over:
                    return
        if last >= window.next_offset:
            self._take_new(last)

    def _take_again(self, first: int, last: int, batch: InFlightBatch) -> None:
        limits = self._limits
        size = last - first + 1
        is_throttled = batch.delivery_count >= limits.throttled_count
        if is_throttled:
            if self._acquired:
                self.is_over = True
                return
            size = min(size, limits.throttled_size(batch.delivery_count, batch.size_acquired))
        if self._is_record_limit:
            size = min(size, self._left)
        for each in self._window.cut(first, first + size - 1):
            if not is_throttled:
                each.size_acquired = len(each)
            self._lock(each)
        self.is_over = self.is_over or is_throttled

    def _take_new(self, last: int) -> None:
        window = self._window
        room = self._limits.max_record_locks - window.open_count
        if room <= 0:
            self.is_over = True
            return
        first = window.next_offset
        if self._is_record_limit and last - first >= min(room, self._left):
            last = first + min(room, self._left) - 1
            self.is_over = True
        fresh = self._fresh
        if fresh is not None and len(fresh) + last - first < self._batch_size:
            fresh.last = last
            fresh.size_acquired = len(fresh)
            window.next_offset = last + 1
            window.open_count += last - first + 1
            self._count(last - first + 1)
            return
        self._fresh = InFlightBatch(first, last, RecordState.AVAILABLE)
        window.append(self._fresh)
        self._lock(self._fresh)

    def _lock(self, batch: InFlightBatch) -> None:
        batch.state = RecordState.ACQUIRED
        batch.delivery_count += 1
        batch.member_id = self._member_id
        batch.lock_deadline_ms = self.lock_deadline_ms
        self._acquired.append(batch)
        self._count(len(batch))

    def _count(self, records: int) -> None:
        self._left -= records
        if self._left <= 0:
            self.is_over = True

    def finish(self) -> list[AcquiredRange]:
        ranges: list[AcquiredRange] = []
        for batch in self._acquired:
            if ranges:
                before = ranges[-1]
                if (
                    before.last + 1 == batch.first
                    and before.delivery_count == batch.delivery_count
                    and batch.last - before.first < self._batch_size
                ):
                    ranges[-1] = AcquiredRange(before.first, batch.last, before.delivery_count)
                    continue
            ranges.append(AcquiredRange(batch.first, batch.last, batch.delivery_count))
        self._window.merge([*((each.first, each.last) for each in ranges), *self._archived])
        self._window.advance()
        return ranges
