"""Offsets whose records a log has lost, because its files are damaged.

`log.state` keeps them until the log is truncated before them, or an operator accepts the loss. A
read there fails: the record behind a lost one must not look like the next one.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class LostRange(NamedTuple):
    """The offsets from `start` up to, not including, `end`."""

    start: int
    end: int
    reason: str

    def __str__(self) -> str:
        return f"offsets {self.start} to {self.end - 1} ({self.reason})"


class LostRanges:
    """Ranges by offset, which neither overlap nor touch. Usually there are none."""

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Iterable[LostRange] = ()) -> None:
        self._ranges: list[LostRange] = []
        for each in ranges:
            self.add(each)

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def __iter__(self) -> Iterator[LostRange]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def __str__(self) -> str:
        return "; ".join(map(str, self._ranges))

    @property
    def first_offset(self) -> int | None:
        return self._ranges[0].start if self._ranges else None

    def add(self, new: LostRange) -> None:
        if new.start >= new.end:
            return
        apart = [each for each in self._ranges if each.end < new.start or each.start > new.end]
        joined = [each for each in self._ranges if each not in apart]
        reasons = dict.fromkeys([each.reason for each in joined] + [new.reason])
        start = min([new.start, *(each.start for each in joined)])
        end = max([new.end, *(each.end for each in joined)])
        self._ranges = sorted([*apart, LostRange(start, end, "; ".join(reasons))])

    def at(self, offset: int) -> LostRange | None:
        """The range that `offset` is in."""
        for each in self._ranges:
            if each.start <= offset < each.end:
                return each
        return None

    def next_start(self, offset: int) -> int | None:
        """Where the first range behind `offset` begins."""
        for each in self._ranges:
            if each.start > offset:
                return each.start
        return None

    def cut_at(self, offset: int) -> None:
        """The log was truncated to `offset`."""
        self._keep(0, offset)

    def start_at(self, offset: int) -> None:
        """`offset` is the log start offset now."""
        self._keep(offset, None)

    def _keep(self, start: int, end: int | None) -> None:
        cut = (
            LostRange(
                max(each.start, start), each.end if end is None else min(each.end, end), each.reason
            )
            for each in self._ranges
        )
        self._ranges = [each for each in cut if each.start < each.end]
