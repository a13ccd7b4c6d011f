"""Splits a large request into small ones, and puts their responses together.

For APIs whose elements are decided one by one: handling forty thousand of them at once would keep
the event loop, here and on the controller, for a tenth of a second and more. An element that has
many elements itself is split too; its answer is one again afterwards.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

PART = 500
"""Elements in a part: deciding one takes up to thirty microseconds."""


@dataclass(frozen=True, slots=True)
class Level:
    """An array of a request or of its elements, and the array of the response that answers it."""

    items: str
    answers: str
    once: str = ""
    """The field that names an element, if one that is named several times is answered once."""


Path = tuple[Level, ...]
"""From the outer array to the inner one."""


@dataclass(frozen=True, slots=True)
class Parts:
    """How the requests of an API are split. Versions differ in the arrays that they fill."""

    paths: tuple[Path, ...]

    def split(self, request: Any) -> Iterator[tuple[Any, int]]:
        """Small requests, and at how many levels each continues the last element of the one
        before it."""
        for path in self.paths:
            if getattr(request, path[0].items):
                return _pieces(request, path)
        return iter(((request, 0),))

    def join(self, whole: Any, part: Any, continued: int) -> None:
        """Add the response to a part to those before it. The first error is that of the whole."""
        if "error_code" in whole.__slots__ and part.error_code and not whole.error_code:
            whole.error_code = part.error_code
            if "error_message" in whole.__slots__:
                whole.error_message = part.error_message
        whole.throttle_time_ms = max(whole.throttle_time_ms, part.throttle_time_ms)
        for path in self.paths:
            _join(whole, part, path, continued)


def parts(*paths: str) -> Parts:
    """From texts: `topics=responses/partitions=partitions`; `groups:group_id=groups` names once."""
    return Parts(tuple(tuple(map(_level, path.split("/"))) for path in paths))


def _level(text: str) -> Level:
    items, _, answers = text.partition("=")
    items, _, once = items.partition(":")
    return Level(items, answers, once)


def _pieces(holder: Any, path: Path) -> Iterator[tuple[Any, int]]:
    level, deeper = path[0], path[1:]
    items = getattr(holder, level.items)
    if level.once:
        items = {getattr(item, level.once): item for item in items}.values()
    taken: list[Any] = []
    left = PART
    for item in items:
        weight = _weight(item, deeper)
        if taken and weight > left:
            yield _with(holder, level, taken), 0
            taken, left = [], PART
        if weight <= PART or not deeper:
            taken.append(item)
            left -= weight
            continue
        for number, (piece, continued) in enumerate(_pieces(item, deeper)):
            yield _with(holder, level, [piece]), continued + 1 if number else 0
    if taken:
        yield _with(holder, level, taken), 0


def _weight(item: Any, deeper: Path) -> int:
    """How many elements it is, with those in it."""
    if not deeper:
        return 1
    inner = getattr(item, deeper[0].items) or ()
    if len(deeper) == 1:
        return 1 + len(inner)
    return 1 + sum(_weight(each, deeper[1:]) for each in inner)


def _with(holder: Any, level: Level, items: list[Any]) -> Any:
    made = copy(holder)
    setattr(made, level.items, items)
    return made


def _join(whole: Any, part: Any, path: Path, continued: int) -> None:
    """Add the answers of `part`; the first of them may be the rest of the last one of `whole`."""
    answers: list[Any] = getattr(whole, path[0].answers)
    more: list[Any] = getattr(part, path[0].answers)
    if continued and len(path) > 1 and answers and more:
        _join(answers[-1], more[0], path[1:], continued - 1)
        more = more[1:]
    answers += more
