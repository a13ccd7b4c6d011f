"""Dead letters that a replay with a reason has passed over: seen, but not sent back.

They are kept as ranges of offsets in the text of the group's committed offset, so they are known
exactly as long as the offset is. With many ranges, the last ones become one: what lies between was
perhaps sent back, and counts as passed over, so that it is not deleted.
"""

from typing import NamedTuple, Self

_PREFIX = "passed-over:"
_MOST = 60
"""Ranges; the text of an offset may have 4096 bytes."""


class PassedOver(NamedTuple):
    """Of one partition: first and last offset of each range, in their order."""

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def decode(cls, text: str) -> Self:
        """None are known from a text of another kind."""
        if not text.startswith(_PREFIX):
            return cls()
        pairs = (each.partition("-") for each in text.removeprefix(_PREFIX).split(","))
        try:
            return cls(tuple((int(first), int(last or first)) for first, _, last in pairs))
        except ValueError:
            return cls()

    def encode(self) -> str:
        if not self.ranges:
            return ""
        return _PREFIX + ",".join(f"{first}-{last}" for first, last in self.ranges)

    def plus(self, offset: int, *, follows: bool) -> Self:
        """With one more, after all others; `follows` if none was sent back since the last."""
        if self.ranges and (follows or len(self.ranges) >= _MOST):
            first, _ = self.ranges[-1]
            return type(self)((*self.ranges[:-1], (first, offset)))
        return type(self)((*self.ranges, (offset, offset)))

    def since(self, start: int) -> Self:
        """Without those that are deleted."""
        return type(self)(
            tuple((max(first, start), last) for first, last in self.ranges if last >= start)
        )

    def has(self, offset: int) -> bool:
        return any(first <= offset <= last for first, last in self.ranges)

    @property
    def first(self) -> int | None:
        return self.ranges[0][0] if self.ranges else None
