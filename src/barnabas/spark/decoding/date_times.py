"""Dates and times of day as Spark reads them from texts."""

import re
from calendar import monthrange
from datetime import UTC, date, datetime, tzinfo

from barnabas.spark.decoding.time_zones import micros_in, time_zone

_SPACE = "".join(map(chr, range(0x21)))  # what Java trims
_TRIMMED = _SPACE + "\x7f"
_DATE = re.compile(r"([+-])?([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIME = r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9.].*)?)?)?"
_TIMESTAMP = re.compile(
    rf"([+-])?([0-9]{{4,6}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:[ T]{_TIME})?)?)?", re.DOTALL
)
_JUST_TIME = re.compile(rf"T{_TIME}", re.DOTALL)
_JUST_CLOCK = re.compile(rf"(?=[0-9]{{1,2}}:){_TIME}", re.DOTALL)
_INT = re.compile(r"[+-]?\d+")
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_DAYS_OF_A_CYCLE = 146_097
_YEARS_OF_A_CYCLE = 400
_GREGORIAN_SINCE = -141_427  # 1582-10-15
_LONG = 1 << 63
_INT32 = 1 << 31
_DAY_MICROS = 86_400_000_000


def days_of(text: str) -> int | None:
    """Days since 1970 of a date; None if it is none."""
    found = _date(text)
    if found is None:
        found = _date(text.replace("GMT", ""))
    if found is None and _INT.fullmatch(text):  # Spark 1.5 wrote days so
        days = int(text)
        if -_INT32 <= days < _INT32:
            return _as_gregorian(days)
    return found


def micros_of(text: str, zone: tzinfo) -> int | None:
    """Microseconds since 1970 of a timestamp, of one without a zone in this one."""
    found = _timestamp(text, zone)
    return _timestamp(text.replace("GMT", ""), zone) if found is None else found


def local_micros_of(text: str) -> int | None:
    """Microseconds since 1970 of a local time; None with a zone."""
    found = _TIMESTAMP.fullmatch(text.strip(_TRIMMED))
    if found is None or found[9] is not None:
        return None
    days = _days(found[1], *map(_number, found.group(2, 3, 4)))
    clock = _micros_of_day(*found.group(5, 6, 7, 8))
    return None if days is None or clock is None else _long(days * _DAY_MICROS + clock)


def _date(text: str) -> int | None:
    found = _DATE.fullmatch(text.strip(_TRIMMED))
    if found is None:
        return None
    days = _days(found[1], *map(_number, found.group(2, 3, 4)))
    return days if days is not None and -_INT32 <= days < _INT32 else None


def _timestamp(text: str, zone: tzinfo) -> int | None:
    trimmed = text.strip(_TRIMMED)
    found = _TIMESTAMP.fullmatch(trimmed)
    if found is not None:
        sign, year, month, day, hour, minute, second, fraction, suffix = found.groups()
    else:
        # A T with nothing before it counts only without anything to trim there.
        found = _JUST_TIME.fullmatch(trimmed) if text.startswith("T") else None
        found = found or _JUST_CLOCK.fullmatch(trimmed)
        if found is None:
            return None
        hour, minute, second, fraction, suffix = found.groups()
    if suffix is not None:
        named = time_zone(suffix.strip(_SPACE))
        if named is None:
            return None
        zone = named
    clock = _micros_of_day(hour, minute, second, fraction)
    if found.re is _TIMESTAMP:
        number = _number(year)
        days = _days(sign, number, _number(month), _number(day))
    else:
        today = datetime.now(UTC).astimezone(zone).date()
        sign, number, days = None, today.year, today.toordinal() - _EPOCH_ORDINAL
    if days is None or clock is None:
        return None
    return _long(micros_in(zone, days, clock, -number if sign == "-" else number))


def _number(text: str | None) -> int:
    return 1 if text is None else int(text)


def _micros_of_day(
    hour: str | None, minute: str | None, second: str | None, fraction: str | None
) -> int | None:
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros


def _days(sign: str | None, year: int, month: int, day: int) -> int | None:
    """Days since 1970, of the Gregorian calendar also before there was one."""
    if sign == "-":
        year = -year
    cycles, of_cycle = divmod(year - 1, _YEARS_OF_A_CYCLE)
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(of_cycle + 1, month)[1]:
        return None
    ordinal = date(of_cycle + 1, month, day).toordinal() - _EPOCH_ORDINAL
    return ordinal + cycles * _DAYS_OF_A_CYCLE


def _as_gregorian(days: int) -> int:
    """The day that has the date, in the Gregorian calendar, that this day had in the Julian one."""
    if days >= _GREGORIAN_SINCE:
        return days
    shifted = days + 719_470  # since 1 March of the Julian year 0
    cycles, of_cycle = divmod(shifted, 1461)
    years = min(of_cycle // 365, 3)
    of_year = of_cycle - 365 * years
    month, day = (5 * of_year + 2) // 153, 0
    day = of_year - (153 * month + 2) // 5 + 1
    year = 4 * cycles + years + (month >= 10)
    found = _days(None, year, month + 3 if month < 10 else month - 9, day)
    if found is None:  # 29 February of a year that is no leap year in the Gregorian calendar
        found = _days(None, year, 3, 1)
    assert found is not None
    return found


def _long(value: int) -> int | None:
    return value if -_LONG <= value < _LONG else None
