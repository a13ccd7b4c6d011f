"""The ongoing transactions of a partition, and the first unstable offset.

A transaction is ongoing in a partition from its first batch to its marker. Until the marker is
committed, another leader may not have it. So the first unstable offset is that of the oldest
transaction that is ongoing, or whose marker is not below the high watermark.
"""

from collections import deque
from typing import NamedTuple

from barnabas.records.batch import Buffer
from barnabas.records.control import ControlType, parse_control_record
from barnabas.records.decode import decode_batch
from barnabas.records.errors import RecordsError


class EndMarker(NamedTuple):
    """The content of a transaction marker."""

    is_commit: bool
    coordinator_epoch: int


def end_marker(batch: Buffer) -> EndMarker | None:
    """The marker in a control batch; None if it ends no transaction.

    Compaction may have emptied the batch: then nothing of its transaction is left.
    """
    try:
        for record in decode_batch(batch):
            control = parse_control_record(record)
            if control.coordinator_epoch is not None:
                return EndMarker(control.type == ControlType.COMMIT, control.coordinator_epoch)
    except RecordsError:
        return None  # brokers write no such batch
    return None


class _Ended(NamedTuple):
    first_offset: int
    marker_offset: int


class Transactions:
    """The transactions of one partition that keep it from being stable."""

    __slots__ = ("_ended", "ongoing")

    def __init__(self) -> None:
        self.ongoing: dict[int, int] = {}
        """First offsets by producer id, oldest first."""
        self._ended: deque[_Ended] = deque()
        """Those whose marker was not committed at the last check, by marker."""

    def __bool__(self) -> bool:
        return bool(self.ongoing or self._ended)

    def begin(self, producer_id: int, offset: int) -> None:
        self.ongoing[producer_id] = offset

    def end(self, producer_id: int, marker_offset: int, committed_offset: int) -> int:
        """A marker was appended; returns the last stable offset once it is committed."""
        self._forget_ended(committed_offset)
        first_offset = self.ongoing.pop(producer_id)
        if marker_offset >= committed_offset:
            self._ended.append(_Ended(first_offset, marker_offset))
        return next(iter(self.ongoing.values()), marker_offset + 1)

    def first_unstable_offset(self, committed_offset: int) -> int | None:
        """The first offset of the oldest open transaction; None if there is none."""
        if self._ended:
            self._forget_ended(committed_offset)
        oldest = next(iter(self.ongoing.values()), None)
        for ended in self._ended:
            if oldest is None or ended.first_offset < oldest:
                oldest = ended.first_offset
        return oldest

    def _forget_ended(self, committed_offset: int) -> None:
        while self._ended and self._ended[0].marker_offset < committed_offset:
            self._ended.popleft()
