"""One character of a set: ranges of code points, perhaps without regard to case."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

Ranges = tuple[tuple[int, int], ...]
"""First and last code point of each, in order, and none touches the next."""

LAST = 0x10FFFF


@dataclass(frozen=True, slots=True, eq=False)
class Chars:
    """The set: what the ranges have, or with `is_negated`, all else. Equal only to itself."""

    ranges: Ranges
    is_negated: bool = False
    ignores_case: bool = False

    def has(self, character: str) -> bool:
        found = _is_in(self.ranges, character)
        if self.ignores_case and not found:
            found = any(_is_in(self.ranges, each) for each in _other_cases(character))
        return found is not self.is_negated


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in any order, which may overlap, as one set."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """All that the ranges don't have."""
    firsts = (0, *(last + 1 for _, last in ranges))
    lasts = (*(first - 1 for first, _ in ranges), LAST)
    return tuple((a, z) for a, z in zip(firsts, lasts, strict=True) if a <= z)


def of(characters: str) -> Ranges:
    return merged((ord(each), ord(each)) for each in characters)


def between(first: str, last: str) -> Ranges:
    return ((ord(first), ord(last)),)


def _is_in(ranges: Ranges, character: str) -> bool:
    point = ord(character)
    at = bisect_right(ranges, (point, LAST))
    return at > 0 and point <= ranges[at - 1][1]


def _other_cases(character: str) -> Iterable[str]:
    return (each for each in (character.lower(), character.upper()) if len(each) == 1)
