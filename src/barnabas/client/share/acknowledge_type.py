"""The kinds of acknowledgement, and their ranges on the wire."""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple


class AcknowledgeType(IntEnum):
    """By its number in requests. A gap is an offset without a record."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class AcknowledgedRange(NamedTuple):
    """Offsets without a hole, with one type for all of them or one for each."""

    first: int
    last: int
    types: list[int]


def ranges_of(types: Mapping[int, AcknowledgeType]) -> list[AcknowledgedRange]:
    """Acknowledgements by offset, as the fewest ranges."""
    ranges: list[AcknowledgedRange] = []
    run: list[int] = []
    first = previous = -1
    for offset in sorted(types):
        if run and offset != previous + 1:
            ranges.append(_range(first, previous, run))
            run = []
        if not run:
            first = offset
        run.append(int(types[offset]))
        previous = offset
    if run:
        ranges.append(_range(first, previous, run))
    return ranges


def _range(first: int, last: int, run: list[int]) -> AcknowledgedRange:
    return AcknowledgedRange(first, last, run[:1] if len(set(run)) == 1 else run)
