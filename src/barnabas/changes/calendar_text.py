"""Dates and times as PostgreSQL writes them (`DateStyle` ISO), as numbers and as ISO 8601.

Python's own calendar has years 1 to 9999; PostgreSQL's goes from 4713 BC to 294276, and has two
infinities. So days are counted here, in the same proleptic Gregorian calendar.
"""

import re
from typing import Final

DAY_US: Final = 86_400_000_000
POSITIVE_INFINITY: Final = 9_223_372_036_825_200_000
"""What Debezium writes for `infinity`, and for `-infinity` the next one."""
NEGATIVE_INFINITY: Final = -9_223_372_036_832_400_000

_DATE = re.compile(r"(\d{4,})-(\d\d)-(\d\d)( BC)?")
_TIMESTAMP = re.compile(
    r"(\d{4,})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?"
    r"([+-]\d\d(?::\d\d){0,2})?( BC)?"
)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?([+-]\d\d(?::\d\d){0,2})?")
_INTERVAL = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?"
    r"(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d{1,6}))?S)?)?"
)
_DAYS_PER_MONTH: Final = 365.25 / 12


def days_of(text: str) -> int:
    """Days since 1970 of a date; a `ValueError` if it is none."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a date")
    return _days(_year(found[1], found[4]), int(found[2]), int(found[3]))


def timestamp_us(text: str) -> int:
    """Microseconds since 1970 of a timestamp; one without a time zone counts as UTC."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a timestamp")
    days = _days(_year(found[1], found[9]), int(found[2]), int(found[3]))
    return days * DAY_US + _clock(found[4], found[5], found[6], found[7]) - _offset(found[8])


def time_us(text: str) -> int:
    """Microseconds since midnight; with a time zone, since midnight in UTC."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time of day")
    clock = _clock(found[1], found[2], found[3], found[4])
    return clock if found[5] is None else (clock - _offset(found[5])) % DAY_US


def interval_parts(text: str) -> tuple[int, int, int]:
    """Months, days and microseconds of an interval in the style ISO 8601."""
    found = _INTERVAL.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not an interval")
    years, months, weeks, days, hours, minutes = (int(each or 0) for each in found.groups()[:6])
    sign = -1 if found[7] else 1
    seconds = sign * (int(found[8] or 0) * 1_000_000 + int((found[9] or "").ljust(6, "0")))
    clock = (hours * 60 + minutes) * 60_000_000 + seconds
    return years * 12 + months, weeks * 7 + days, clock


def interval_us(text: str) -> int:
    """An interval in microseconds, with months of 30.4375 days as Debezium has them."""
    months, days, clock = interval_parts(text)
    return int(months * _DAYS_PER_MONTH * DAY_US) + days * DAY_US + clock


def interval_text(text: str) -> str:
    """An interval as Debezium writes it, with all its parts."""
    months, days, clock = interval_parts(text)
    years, months = _divided(months, 12)
    minutes, micros = _divided(clock, 60_000_000)
    hours, minutes = _divided(minutes, 60)
    sign, micros = "-" if micros < 0 else "", abs(micros)
    fraction = f".{micros % 1_000_000:06}".rstrip("0") if micros % 1_000_000 else ""
    seconds = f"{sign}{micros // 1_000_000}{fraction}"
    return f"P{years}Y{months}M{days}DT{hours}H{minutes}M{seconds}S"


def iso_date(days: int) -> str:
    """A date in ISO 8601, with a sign if its year is before 0 or after 9999."""
    year, month, day = _civil(days)
    shown = f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"
    return f"{shown}-{month:02}-{day:02}"


def iso_timestamp(micros: int, digits: int) -> str:
    """Date and time in ISO 8601, with so many digits after the second."""
    days, clock = divmod(micros, DAY_US)
    return f"{iso_date(days)}T{iso_time(clock, digits)}"


def iso_time(micros: int, digits: int) -> str:
    """A time of day in ISO 8601."""
    seconds, fraction = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}"[: len(text) + 1 + digits] if digits else text


def _year(digits: str, before_christ: str | None) -> int:
    return 1 - int(digits) if before_christ else int(digits)


def _clock(hours: str, minutes: str, seconds: str, fraction: str | None) -> int:
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1_000_000 + int((fraction or "").ljust(6, "0"))


def _offset(text: str | None) -> int:
    if text is None:
        return 0
    hours, minutes, seconds = ([int(each) for each in text[1:].split(":")] + [0, 0])[:3]
    offset = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
    return -offset if text[0] == "-" else offset


def _divided(number: int, by: int) -> tuple[int, int]:
    """Quotient and rest, both with the sign of the number."""
    whole, rest = divmod(abs(number), by)
    return (-whole, -rest) if number < 0 else (whole, rest)


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970. Years are counted from March, so that the leap day is their last."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _civil(days: int) -> tuple[int, int, int]:
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return era * 400 + year + (month <= 2), month, day
