"""Compares the records of a partition with their copies, whatever offsets they have. No I/O.

Both sides are sequences of (offset, digest). The copies of the source's records have to be there,
in order. Before the first of them the target may have older ones, which the source has deleted;
behind the last one it may have newer ones, as data flows.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

_SHOWN = 10


class DigestedRecord(NamedTuple):
    """A record's offset, and a hash of all else."""

    offset: int
    digest: bytes


@dataclass
class RangeComparison:
    """A range of the source: how many records, and the checksum of their sequence on both sides."""

    start: int
    end: int
    records: int = 0
    copies: int = 0
    source_checksum: str = ""
    target_checksum: str = ""


@dataclass
class Comparison:
    """What was found in a partition."""

    topic: str
    partition: int
    records: int = 0
    missing: list[int] = field(default_factory=list)
    """Offsets of the source, the first of them."""
    missing_count: int = 0
    expired: int = 0
    """Records that the target has deleted already."""
    extra: list[int] = field(default_factory=list)
    """Offsets of the target among the copies, the first of them."""
    extra_count: int = 0
    ranges: list[RangeComparison] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        return not self.missing_count and not self.extra_count


def compare(
    topic: str,
    partition: int,
    source: Sequence[DigestedRecord],
    target: Sequence[DigestedRecord],
    *,
    is_cut: bool = False,
    range_records: int = 10_000,
) -> Comparison:
    """A record out of order is missing where it should be, and extra where it is.

    `is_cut` says that the target has deleted its oldest records.
    """
    found = Comparison(topic, partition, len(source))
    places: defaultdict[bytes, deque[int]] = defaultdict(deque)
    for index, copy in enumerate(target):
        places[copy.digest].append(index)
    at = 0
    has_begun = False
    for begin in range(0, len(source), range_records):
        part = source[begin : begin + range_records]
        compared = RangeComparison(part[0].offset, part[-1].offset + 1, len(part))
        sums = blake2b(digest_size=8), blake2b(digest_size=8)
        for record in part:
            sums[0].update(record.digest)
            copies = places[record.digest]
            while copies and copies[0] < at:
                copies.popleft()
            if not copies:
                _miss(found, record.offset, expired=is_cut and not has_begun)
                continue
            index = copies.popleft()
            if has_begun:
                _add_extra(found, [each.offset for each in target[at:index]])
            has_begun, at = True, index + 1
            compared.copies += 1
            sums[1].update(record.digest)
        compared.source_checksum, compared.target_checksum = (each.hexdigest() for each in sums)
        found.ranges.append(compared)
    return found


def _miss(found: Comparison, offset: int, *, expired: bool) -> None:
    if expired:
        found.expired += 1
        return
    found.missing_count += 1
    if len(found.missing) < _SHOWN:
        found.missing.append(offset)


def _add_extra(found: Comparison, offsets: Sequence[int]) -> None:
    found.extra_count += len(offsets)
    found.extra += offsets[: _SHOWN - len(found.extra)]
