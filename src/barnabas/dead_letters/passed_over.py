"""Dead letters that a replay with a reason has passed over: seen, but not sent back.

They are kept as ranges of offsets in the text of the group's committed offset:

    passed-over: 3-7,9,+12-80

A range with a plus is inexact: some of its letters were sent back. It comes into the text when all
ranges together would be too long: the last ones become one. Its letters are neither sent back, as
some would be sent twice, nor deleted as sent back. A version of Barnabas that knows no inexact
ranges reads the text as well. Its own texts have no space after the colon and at most 60 ranges, of
which the 60th may be inexact.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple, Self

_PREFIX = "passed-over:"
_MAX_LENGTH = 4000
"""Brokers store 4096 bytes with an offset (offset.metadata.max.bytes)."""
_FORMER_MAX_RANGES = 60

Range = tuple[int, int]
"""The first and the last offset."""
Seen = tuple[int, bool]
"""An offset, in the order of offsets, and whether its letter was passed over."""


class PassedOver(NamedTuple):
    """Of one partition: both kinds of ranges in the order of their offsets, without overlaps."""

    ranges: tuple[Range, ...] = ()
    inexact: tuple[Range, ...] = ()

    @classmethod
    def decode(cls, text: str) -> Self:
        """None are known from a text of another kind."""
        if not text.startswith(_PREFIX):
            return cls()
        parts = text.removeprefix(_PREFIX).strip().split(",")
        if not text.startswith(f"{_PREFIX} ") and len(parts) >= _FORMER_MAX_RANGES:
            parts[-1] = f"+{parts[-1]}"
        try:
            found = [(each.startswith("+"), _range_of(each)) for each in parts]
        except ValueError:
            return cls()
        return cls(
            tuple(each for is_inexact, each in found if not is_inexact),
            tuple(each for is_inexact, each in found if is_inexact),
        )

    def encode(self) -> str:
        parts = [_text_of(each, is_inexact) for each, is_inexact in self._in_order()]
        return f"{_PREFIX} {','.join(parts)}" if parts else ""

    def after(self, seen: Iterable[Seen]) -> Self:
        """With more, behind all others.

        Offsets between two that were passed over have no letter, and join them to one range.
        """
        return self._replace(ranges=(*self.ranges, *_joined(seen)))._fitted()

    def again(self, begin: int, end: int, seen: Iterable[Seen]) -> Self:
        """After exact ranges were read once more, from `begin` to before `end`: the rest of them.

        What is not in `seen` has no letter.
        """
        offsets = list(seen)
        ranges: list[Range] = []
        for first, last in self.ranges:
            if first < begin:
                ranges.append((first, min(last, begin - 1)))
            left = bisect_left(offsets, (max(first, begin),))
            ranges += _joined(offsets[left : bisect_left(offsets, (min(last + 1, end),))])
            if last >= end:
                ranges.append((max(first, end), last))
        return self._replace(ranges=_without_seams(ranges))._fitted()

    def since(self, start: int) -> Self:
        """Without those that are deleted."""
        return type(self)(_since(self.ranges, start), _since(self.inexact, start))

    def has(self, offset: int) -> bool:
        """Whether it was passed over, or may have been."""
        return self.is_known(offset) or self.is_uncertain(offset)

    def is_known(self, offset: int) -> bool:
        """Whether it was certainly not sent back."""
        return _has(self.ranges, offset)

    def is_uncertain(self, offset: int) -> bool:
        """Whether it may have been sent back."""
        return _has(self.inexact, offset)

    @property
    def first(self) -> int | None:
        return min((each[0][0] for each in (self.ranges, self.inexact) if each), default=None)

    def _in_order(self) -> list[tuple[Range, bool]]:
        return sorted(
            [(each, False) for each in self.ranges] + [(each, True) for each in self.inexact]
        )

    def _fitted(self) -> Self:
        """With as many ranges as the text has room for."""
        all_of = self._in_order()
        lengths = [len(_text_of(*each)) + 1 for each in all_of]
        length = len(_PREFIX) + sum(lengths)
        if length <= _MAX_LENGTH:
            return self
        kept = len(all_of)
        while length + len(_text_of(self._span(all_of[kept:]), True)) + 1 > _MAX_LENGTH:
            kept -= 1
            length -= lengths[kept]
        return type(self)(
            tuple(each for each, is_inexact in all_of[:kept] if not is_inexact),
            (
                *(each for each, is_inexact in all_of[:kept] if is_inexact),
                self._span(all_of[kept:]),
            ),
        )

    @staticmethod
    def _span(ranges: list[tuple[Range, bool]]) -> Range:
        return (ranges[0][0][0], ranges[-1][0][1]) if ranges else (0, 0)


def _joined(seen: Iterable[Seen]) -> list[Range]:
    ranges: list[Range] = []
    follows = False
    for offset, is_passed_over in seen:
        if is_passed_over and follows:
            ranges[-1] = (ranges[-1][0], offset)
        elif is_passed_over:
            ranges.append((offset, offset))
        follows = is_passed_over
    return ranges


def _without_seams(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """A range that was read in parts is one again."""
    whole: list[Range] = []
    for first, last in ranges:
        if whole and whole[-1][1] + 1 == first:
            whole[-1] = (whole[-1][0], last)
        else:
            whole.append((first, last))
    return tuple(whole)


def _range_of(text: str) -> Range:
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def _text_of(offsets: Range, is_inexact: bool) -> str:
    first, last = offsets
    return ("+" if is_inexact else "") + (f"{first}-{last}" if last > first else f"{first}")


def _since(ranges: tuple[Range, ...], start: int) -> tuple[Range, ...]:
    return tuple((max(first, start), last) for first, last in ranges if last >= start)


def _has(ranges: tuple[Range, ...], offset: int) -> bool:
    place = bisect_right(ranges, offset, key=lambda each: each[0])
    return place > 0 and offset <= ranges[place - 1][1]
