"""When schedules are due."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.app.schedules.ticks import Cron, Interval, due, ticks_of
from barnabas.errors import InvalidArgument

BERLIN = "Europe/Berlin"
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def ms(*moment: int, zone: str = "UTC") -> int:
    return round(datetime(*moment, tzinfo=ZoneInfo(zone)).timestamp() * 1000)  # type: ignore[misc,arg-type]


def test_an_interval_counts_from_the_epoch() -> None:
    hourly = Interval("1h")
    at = ms(2026, 11, 19, 8, 30)
    assert hourly.after(at) == ms(2026, 11, 19, 9)
    assert hourly.after(ms(2026, 11, 19, 9)) == ms(2026, 11, 19, 10), "later, not the same"
    assert Interval(timedelta(milliseconds=250)).after(999) == 1000


def test_a_cron_expression_is_in_its_time_zone() -> None:
    daily = Cron("0 6 * * *", BERLIN)
    assert daily.after(ms(2026, 11, 19, 12)) == ms(2026, 11, 20, 6, zone=BERLIN)
    assert daily.after(ms(2026, 11, 20, 6, zone=BERLIN)) == ms(2026, 11, 21, 6, zone=BERLIN)
    assert daily.after(ms(2026, 11, 20, 6, zone=BERLIN) - 1) == ms(2026, 11, 20, 6, zone=BERLIN)


@pytest.mark.parametrize("day", [(2026, 3, 29), (2026, 10, 25)], ids=["forward", "back"])
def test_a_daily_job_comes_once_on_days_with_23_and_25_hours(day: tuple[int, int, int]) -> None:
    at_half_past_two = Cron("30 2 * * *", BERLIN)
    start = datetime(*day, tzinfo=ZoneInfo(BERLIN))
    end = (start.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=ZoneInfo(BERLIN))
    start_ms, end_ms = round(start.timestamp() * 1000), round(end.timestamp() * 1000)
    found = due(at_half_past_two, start_ms - 1, end_ms - 1, 2 * DAY)
    assert len(found) == 1


@pytest.mark.parametrize("cron", ["30 2 * * *", "10,50 2 * * *", "15 0-5 * * *", "*/20 * * * *"])
def test_a_tick_is_later_than_what_it_comes_after(cron: str) -> None:
    """Also in the second of two hours with the same name."""
    ticks, minute = Cron(cron, BERLIN), ms(2026, 10, 24, 22)
    while minute < ms(2026, 10, 25, 4):
        tick = ticks.after(minute)
        assert tick > minute
        minute += 7 * MINUTE


def test_a_schedule_of_seconds() -> None:
    each = Cron("*/10 * * * * *", "UTC")
    assert each.after(25_500) == 30_000


@pytest.mark.parametrize(
    ("cron", "every", "zone", "message"),
    [
        (None, None, "UTC", "give one of them"),
        ("* * * * *", "1m", "UTC", "give one of them"),
        ("61 * * * *", None, "UTC", "schedule '61 "),
        ("often", None, "UTC", "schedule 'often'"),
        ("", None, "UTC", "schedule ''"),
        ("0 0 30 2 *", None, "UTC", "schedule '0 0 30 2"),
        ("* * * * *", None, "Atlantis", "time_zone='Atlantis'"),
        ("* * * * *", None, "../etc/passwd", "time_zone="),
        (None, "soon", "UTC", "every='soon'"),
        (None, "1h", "Atlantis", "time_zone='Atlantis'"),
        (None, 0, "UTC", "every=0"),
        (None, -1, "UTC", "not negative"),
    ],
)
def test_what_is_no_schedule_is_refused(
    cron: str | None, every: str | float | None, zone: str, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        ticks_of(cron, every, zone)


def test_what_was_missed_is_made_up_for_as_far_back_as_allowed() -> None:
    minutely, daily = Interval("1m"), Interval("1d")
    now = 10 * DAY + 30_000
    assert due(minutely, now - 3 * MINUTE, now, HOUR) == [
        now - 30_000 - MINUTE * n for n in (2, 1, 0)
    ]
    assert len(due(minutely, 0, now, HOUR)) == 60
    assert due(minutely, 0, now, 0) == [10 * DAY], "the latest one always"
    assert due(daily, 0, now, HOUR) == [10 * DAY]
    assert due(daily, 0, now + 12 * HOUR, HOUR) == [10 * DAY]
    assert due(daily, 10 * DAY, now + 12 * HOUR, HOUR) == []


@given(
    every=st.integers(1, 5000),
    last=st.integers(0, 10**6),
    later=st.integers(0, 10**6),
    catch_up=st.integers(0, 10**6),
)
def test_the_latest_tick_is_never_left_out(
    every: int, last: int, later: int, catch_up: int
) -> None:
    ticks, now = Interval(every / 1000), last + later
    found = due(ticks, last, now, catch_up)
    assert found == sorted(set(found))
    latest = now // every * every
    assert (latest in found) == (latest > last)
    assert all(last < each <= now for each in found)
    assert [each for each in found[:-1] if each <= now - catch_up] == []


def test_the_text_tells_one_schedule_from_another() -> None:
    made = [Cron("0 6 * * *", "UTC"), Cron("0 6 * * *", BERLIN), Interval("1h"), Interval("2h")]
    assert len({each.text for each in made}) == 4
    assert datetime.fromtimestamp(Interval("1h").after(0) / 1000, UTC).hour == 1
