"""Waits for changes that other processes make."""

import time
from collections.abc import Callable
from typing import TypeVar

from barnabas.embedded.errors import ClusterError

T = TypeVar("T")

_SHORTEST_S = 0.002
_LONGEST_S = 0.05


def wait_for(look: Callable[[], T | None], timeout_s: float, complaint: Callable[[], str]) -> T:
    """Return what `look` finds, as soon as it is not None; `complaint` says what is missing."""
    deadline = time.monotonic() + timeout_s
    pause_s = _SHORTEST_S
    while (found := look()) is None:
        if time.monotonic() > deadline:
            raise ClusterError(f"{complaint()} (waited {timeout_s:g} s)")
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_S)
    return found


def wait_until(holds: Callable[[], bool], timeout_s: float, complaint: Callable[[], str]) -> None:
    wait_for(lambda: holds() or None, timeout_s, complaint)
