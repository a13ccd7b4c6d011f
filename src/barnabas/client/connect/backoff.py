"""Pauses between attempts: they double, and are spread so that clients do not march in step."""

import random
from collections.abc import Iterator
from itertools import count

FIRST_PAUSE_MS = 50
LONGEST_PAUSE_MS = 1_000
BUSY_PAUSE_MS = 4
"""The first pause for what is only a matter of moments, such as the end of a transaction."""


def pause_before(attempt: int, first_pause_ms: int = FIRST_PAUSE_MS) -> float:
    """Seconds to wait before the n-th further attempt, n from 1."""
    pause_ms = min(first_pause_ms << min(attempt - 1, 16), LONGEST_PAUSE_MS)
    return pause_ms * random.uniform(0.8, 1.2) / 1000  # noqa: S311 - spread, not secrecy


def pauses() -> Iterator[float]:
    """Seconds to wait before the second, third, ... attempt, without end."""
    for attempt in count(1):
        yield pause_before(attempt)
