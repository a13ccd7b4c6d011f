"""Builds long responses in slices, so that other requests are served in between.

A handler with a potentially long response is a generator: it yields between slices and returns the
response. Most never yield, as their response fits into one slice; they are answered at once. Parts
built after the first slice are encoded at once, otherwise all of them would be encoded in one go at
the end.
"""

from asyncio import sleep
from collections.abc import Callable, Generator, Iterable
from typing import Protocol, TypeVar, cast

from barnabas.wire.message import Struct
from barnabas.wire.primitives import Writer

ItemT = TypeVar("ItemT")
PartT = TypeVar("PartT", bound=Struct)
ResultT = TypeVar("ResultT")

Slices = Generator[None, None, ResultT]
"""A result that is built in slices."""

SLICE = 1000
"""The size of a slice: this many elements that cost a few microseconds each."""


class EncodedPart(Struct):
    """A part of a response that is already encoded."""

    __slots__ = ("encoded", "errors")

    def __init__(self, encoded: bytes, errors: list[int]) -> None:
        self.encoded = encoded
        self.errors = errors

    def encode(self, w: Writer, version: int) -> None:
        del version
        w.buffer += self.encoded
        w.errors += self.errors


class Slicer:
    """Builds the parts of one response of one version."""

    def __init__(self, version: int | None) -> None:
        """Without a version, the parts stay as they are."""
        self._version = version
        self._left = SLICE
        self._is_long = False
        """Whether the first slice is full: further parts are encoded at once."""

    def each(
        self,
        items: Iterable[ItemT],
        make: Callable[[ItemT], PartT],
        weight: int | Callable[[PartT], int] = 1,
    ) -> Slices[list[PartT]]:
        """A part for each item; one costs as much as `weight` small elements."""
        parts: list[PartT] = []
        for item in items:
            made = make(item)
            parts.append(self.part(made))
            if self.is_due(weight if isinstance(weight, int) else weight(made)):
                yield
        return parts

    def is_due(self, weight: int = 1) -> bool:
        """Whether it is time to yield, after some work."""
        self._left -= weight
        if self._left > 0:
            return False
        self._left = SLICE
        self._is_long = True
        return True

    def part(self, part: PartT) -> PartT:
        """The part as it goes into the response: after the first slice, encoded."""
        if not self._is_long or self._version is None:
            return part
        w = Writer()
        part.encode(w, self._version)
        return cast("PartT", EncodedPart(w.getvalue(), w.errors))


def split(
    items: Iterable[ItemT], is_first: Callable[[ItemT], bool]
) -> Slices[tuple[list[ItemT], list[ItemT]]]:
    """The items of which that is so, and the others."""
    first: list[ItemT] = []
    others: list[ItemT] = []
    left = SLICE
    for item in items:
        (first if is_first(item) else others).append(item)
        left -= 1
        if not left:
            left = SLICE
            yield
    return first, others


def begun(slices: Slices[ResultT]) -> ResultT | Slices[ResultT]:
    """The result, if its first slice is all of it; otherwise what is left of the slices."""
    try:
        next(slices)
    except StopIteration as made:
        return cast("ResultT", made.value)
    return slices


class WorkTimer(Protocol):
    """Counts the time that a request takes, for the quota of its client."""

    def resumed(self) -> None:
        """A later turn of the work begins."""

    def paused(self) -> None:
        """It ends."""


def timed(timer: WorkTimer | None, step: Callable[[], ResultT]) -> ResultT:
    """Do a later turn of the work for a request."""
    if timer is None:
        return step()
    timer.resumed()
    try:
        return step()
    finally:
        timer.paused()


async def awaited(slices: Slices[ResultT], timer: WorkTimer | None = None) -> ResultT:
    """Build the slices in turns of the event loop."""
    while True:
        try:
            timed(timer, slices.__next__)
        except StopIteration as made:
            return cast("ResultT", made.value)
        await sleep(0)
