"""Bounds for work that do not depend on the machine: lines of Python that run, not seconds."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class TooManySteps(AssertionError):
    """Raised in the middle of the work, which might never end."""


@contextmanager
def at_most_steps(limit: int) -> Iterator[None]:
    """Fail as soon as what is called inside has run more lines than that.

    Each turn of a loop counts as a line, also of one inside an expression. What C does counts
    nothing.
    """
    steps = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal steps
        if event == "line":
            steps += 1
            if steps > limit:
                sys.settrace(None)
                raise TooManySteps(f"more than {limit} lines were run")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
