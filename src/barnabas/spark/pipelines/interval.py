"""Intervals in Spark's format, such as `10 seconds` or `1 minute 30 seconds`."""

import re

_UNIT = "year|month|week|day|hour|minute|second|millisecond|microsecond"
_PART = rf"(?:\d+\s+(?:{_UNIT})s?|\d+\.\d+\s+seconds?)"
_WHOLE = re.compile(rf"(?:interval\s+)?{_PART}(?:\s+{_PART})*$")


def is_interval(text: str) -> bool:
    """Whether Spark accepts it; for checks before Spark is started."""
    return _WHOLE.match(text.strip().lower()) is not None


def is_period(text: str) -> bool:
    """Whether Spark accepts it as the interval of a trigger: months have no fixed length."""
    return is_interval(text) and not re.search("month|year", text.lower())
