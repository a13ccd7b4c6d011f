"""Durations as people write them: "30s", "1h 30m", 0.5."""

import re
from datetime import timedelta
from typing import TypeAlias

from barnabas.errors import InvalidArgument

Duration: TypeAlias = str | float | timedelta
"""Text as "30s" or "1h 30m", seconds, or a timedelta."""

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_STEP = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_WHOLE = re.compile(rf"(?:{_STEP.pattern})+\s*")


def seconds(duration: Duration, argument: str) -> float:
    """The seconds that a duration has; `argument` is where it was given."""
    if isinstance(duration, timedelta):
        found = duration.total_seconds()
    elif isinstance(duration, str):
        if not _WHOLE.fullmatch(duration):
            raise InvalidArgument(f'{argument}={duration!r}: write "30s", "1h 30m" or "500ms"')
        found = sum(float(count) * _UNITS_S[unit] for count, unit in _STEP.findall(duration))
    else:
        found = float(duration)
    if found < 0:
        raise InvalidArgument(f"{argument}={duration!r}: a duration is not negative")
    return found


def short(duration_s: float) -> str:
    """As in names of retry topics: 30s, 5m, 1.5s."""
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("m", 60.0)):
        if duration_s >= size and duration_s % size == 0:
            return f"{duration_s / size:g}{unit}"
    return f"{duration_s:g}s" if duration_s >= 1 else f"{duration_s * 1000:g}ms"
