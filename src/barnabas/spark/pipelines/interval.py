"""Lengths of time as Spark takes them, as `10 seconds` or `1 minute 30 seconds`."""

import re

_UNIT = "year|month|week|day|hour|minute|second|millisecond|microsecond"
_PART = rf"(?:\d+\s+(?:{_UNIT})s?|\d+\.\d+\s+seconds?)"
_WHOLE = re.compile(rf"(?:interval\s+)?{_PART}(?:\s+{_PART})*$")


def is_interval(text: str) -> bool:
    """Whether Spark would take it; that is asked before there is a Spark."""
    return _WHOLE.match(text.strip().lower()) is not None


def is_period(text: str) -> bool:
    """Whether Spark would take it for how often something happens: months have no one length."""
    return is_interval(text) and not re.search("month|year", text.lower())
