"""A partition read from its end, in windows of offsets that hold few bytes.

Records are read forwards, so a window is kept until it is complete. Where its records are larger
than expected, the window is made smaller and read again.
"""

from collections.abc import Awaitable, Callable

from barnabas.console.messages.ranges import Found, RangeReader, size_of

MAX_WINDOW = 20_000
_GAP = 4

Select = Callable[[list[Found]], Awaitable[list[Found]]]


async def all_of(records: list[Found]) -> list[Found]:
    return records


class Backwards:
    """`before` is where what is left to read ends."""

    def __init__(
        self,
        reader: RangeReader,
        beginning: int,
        before: int,
        *,
        window: int,
        budget: int,
        select: Select = all_of,
    ) -> None:
        """A window keeps at most `budget` bytes of records that `select` lets through, or one."""
        self._reader = reader
        self._beginning = beginning
        self.before = before
        self._window = window
        self._budget = budget
        self._select = select

    @property
    def is_done(self) -> bool:
        return self.before <= self._beginning

    async def step(self) -> list[Found]:
        """The records of the next window, in order of offsets."""
        while True:
            start = max(self._beginning, self.before - self._window)
            found: list[Found] = []
            at, size = start, 0
            while at < self.before and (size <= self._budget or self._window == 1):
                piece = await self._reader.read_piece(at, self.before)
                chosen = await self._select(piece.records)
                found += chosen
                size += size_of(chosen)
                at = piece.next_offset
            if size <= self._budget or self._window == 1:
                break
            self._window = max(1, (min(at, self.before) - start) // 2)
        self.before = start
        if size < self._budget // 4:  # compaction may have left nothing but gaps
            self._window = min(self._window * (2 if found else _GAP), MAX_WINDOW)
        return found
