"""Points in time and durations, as people write them."""

import re
from datetime import UTC, datetime, timedelta

from barnabas.cli.base.command import UsageError

_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LATEST_MS = (1 << 63) - 1  # what the protocol can say
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_AGO = re.compile(r"((?:\s*\d+\s*(?:ms|s|m|h|d|w))+)(?:\s+ago)?")
_STEP = re.compile(r"(\d+)\s*(ms|[smhdw])")


def parse_time(text: str, now_ms: int) -> int:
    """Milliseconds since the epoch of an ISO 8601 time, a number of them, or "1h 30m ago".

    A time without a zone is local time. What lies before 1970 counts as 1970: the protocol gives
    negative times a meaning of their own.
    """
    try:
        timestamp_ms = _parse(text.strip(), now_ms)
    except (ValueError, OverflowError):
        raise UsageError(
            f"invalid time {text!r}; use 2026-01-31T12:00, milliseconds since 1970, or '10m ago'"
        ) from None
    if timestamp_ms > _LATEST_MS:
        raise UsageError(f"invalid time {text!r}; milliseconds since 1970 end at {_LATEST_MS}")
    return max(0, timestamp_ms)


def parse_duration(text: str) -> int:
    """Milliseconds of "15m", "1h 30m" or "500 ms"."""
    found = _AGO.fullmatch(text.strip())
    if found is None or text.strip().endswith("ago"):
        raise UsageError(f"invalid duration {text!r}; use 15m, '1h 30m' or 500ms")
    return _sum_ms(found[1])


def _sum_ms(steps: str) -> int:
    return sum(int(count) * _UNITS_MS[unit] for count, unit in _STEP.findall(steps))


def _parse(text: str, now_ms: int) -> int:
    if text.isdecimal():
        return int(text)
    if text == "now":
        return now_ms
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now_ms - _sum_ms(ago[1])
    return (datetime.fromisoformat(text).astimezone(UTC) - _EPOCH) // _MILLISECOND


def format_time(timestamp_ms: int) -> str:
    """ISO 8601 in UTC, with milliseconds; a record without a timestamp has none."""
    if timestamp_ms < 0:
        return "-"
    try:
        moment = _EPOCH + timestamp_ms * _MILLISECOND
    except OverflowError:
        return str(timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
