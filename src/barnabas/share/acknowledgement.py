"""Checks of the acknowledgements in a request, before any record is looked at."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.share.record_state import AcknowledgeType
from barnabas.wire.errors import ErrorCode

_TYPES = {int(each): each for each in AcknowledgeType}


class Acknowledgement(NamedTuple):
    """Acknowledges the records from `first` to `last`: all alike, or each with its own type."""

    first: int
    last: int
    types: Sequence[int]

    def parts(self) -> Iterator[tuple[int, int, AcknowledgeType]]:
        """Neighbouring offsets with the same type."""
        types = self.types
        if len(types) == 1:
            yield self.first, self.last, _TYPES[types[0]]
            return
        begin = 0
        for at in range(1, len(types) + 1):
            if at == len(types) or types[at] != types[begin]:
                yield self.first + begin, self.first + at - 1, _TYPES[types[begin]]
                begin = at


class Refusal(NamedTuple):
    error: ErrorCode
    message: str


def check_acknowledgements(
    batches: Sequence[Acknowledgement], *, is_renewal: bool
) -> Refusal | None:
    """Why the acknowledgements of a partition make no sense; None if they do.

    `is_renewal` says that the request may renew locks.
    """
    previous = -1
    for batch in batches:
        why = _wrong(batch, previous, is_renewal=is_renewal)
        if why is not None:
            return Refusal(ErrorCode.INVALID_REQUEST, why)
        previous = batch.last
    return None


def _wrong(batch: Acknowledgement, previous: int, *, is_renewal: bool) -> str | None:
    first, last, types = batch
    if first < 0 or last < 0:
        return f"offsets {first} to {last} are negative"
    if first > last:
        return f"first offset {first} is greater than last offset {last}"
    if first <= previous:
        return f"offset {first} is acknowledged twice or out of order"
    if not types:
        return f"no acknowledgement type for offsets {first} to {last}"
    if len(types) > 1 and len(types) != last - first + 1:
        return f"{len(types)} acknowledgement types for {last - first + 1} offsets"
    for each in types:
        if each not in _TYPES:
            return f"unknown acknowledgement type {each}"
        if each == AcknowledgeType.RENEW and not is_renewal:
            return "only a request with is_renew_ack may renew locks"
    return None
