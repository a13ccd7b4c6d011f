"""Points in time and durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.base.command import UsageError
from barnabas.cli.base.times import format_time, parse_duration, parse_time

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1700000000123", 1_700_000_000_123),
        ("now", NOW),
        ("10m ago", NOW - 600_000),
        ("1h 30m ago", NOW - 5_400_000),
        ("2d", NOW - 172_800_000),
        ("500ms ago", NOW - 500),
        ("1w ago", NOW - 604_800_000),
        ("99999w ago", 0),
        ("1969-12-31T23:59:59.999Z", 0),
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14T23:13:20.5+01:00", NOW + 500),
    ],
)
def test_times_as_people_write_them(text: str, expected: int) -> None:
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "10 ago", "m ago", "2023-13-01", "-5"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="invalid time"):
        parse_time(text, NOW)


@pytest.mark.parametrize("text", ["9223372036854775808", "9" * 30, "9" * 5_000])
def test_times_beyond_the_protocol(text: str) -> None:
    assert parse_time("9223372036854775807", NOW) == 9223372036854775807
    with pytest.raises(UsageError, match="milliseconds since 1970"):
        parse_time(text, NOW)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15m", 900_000), (" 1h 30m", 5_400_000), ("500ms", 500), ("0s", 0)],
)
def test_lengths_of_time(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@given(st.integers(0, 4_000_000_000_000))
def test_printed_times_can_be_read_back(timestamp_ms: int) -> None:
    assert parse_time(format_time(timestamp_ms), NOW) == timestamp_ms


def test_times_that_no_calendar_has() -> None:
    assert format_time(-1) == "-"
    assert format_time(1 << 62) == str(1 << 62)
