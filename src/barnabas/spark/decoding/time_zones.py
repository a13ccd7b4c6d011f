"""Time zones by the names that Java knows, and local times in them."""

import re
from array import array
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

_SHORT_IDS = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
_UTC = {"Z", "UTC", "Etc/UTC", "Zulu", "Etc/Zulu", "Universal", "Etc/Universal", "UCT", "Etc/UCT"}
_NOT_JAVAS = {"Factory", "localtime", "posixrules"}
_ONE_DIGIT_HOUR = re.compile(r"([+-])(\d):", re.ASCII)
_ONE_DIGIT_MINUTE = re.compile(r"([+-]\d\d):(\d)$", re.ASCII)
_OFFSET = re.compile(
    r"([+-])(?:(\d)|(\d\d)(?::?(\d\d))?|(\d\d):(\d\d):(\d\d)|(\d\d)(\d\d)(\d\d))", re.ASCII
)
_PREFIX = re.compile(r"(?:UTC|GMT|UT)(?=$|[+-])")
_MAX_OFFSET = timedelta(hours=18)
_MAX_PART = 59
_YEARS_OF_A_CYCLE = 400
_FIRST_YEAR, _LAST_YEAR = 2, 9998  # a day's room on both sides
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a local time
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ALWAYS = 1 << 62
_STEP = timedelta(days=5)
"""Clocks change less often than that, in all zones there are."""


@lru_cache(1024)
def time_zone(name: str) -> tzinfo | None:
    """The zone that Java has by this name; None if there is none."""
    name = _ONE_DIGIT_HOUR.sub(r"\g<1>0\2:", name, count=1)
    name = _ONE_DIGIT_MINUTE.sub(r"\1:0\2", name, count=1)
    name = _SHORT_IDS.get(name, name)
    if name in _UTC:
        return UTC
    if name.startswith(("+", "-")):
        return _offset(name)
    prefix = _PREFIX.match(name)
    if prefix is not None:
        rest = name[prefix.end() :]
        return _offset(rest) if rest else UTC
    return ZoneInfo(name) if name in _regions() else None


def micros_in(zone: tzinfo, days: int, micros_of_day: int, year: int) -> int:
    """Microseconds since 1970 of a local time.

    A time that a clock shows twice is the earlier one, one that it skips is as much later.
    """
    micros = days * 86_400_000_000 + micros_of_day
    if isinstance(zone, timezone):
        fixed = zone.utcoffset(None)
        return micros - fixed // _MICROSECOND
    cycles = 0
    if year > _LAST_YEAR:  # the calendar, and with it the rules, repeat
        cycles = (year - _LAST_YEAR) // _YEARS_OF_A_CYCLE + 1
    elif year < _FIRST_YEAR:  # before all rules
        cycles = (year - _FIRST_YEAR) // _YEARS_OF_A_CYCLE
    local = _EPOCH + timedelta(days=days - cycles * 146_097, microseconds=micros_of_day)
    offset = local.replace(tzinfo=zone, fold=0).utcoffset()
    assert offset is not None
    return micros - offset // _MICROSECOND


def _offset(text: str) -> timezone | None:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    sign, h1, h2, m2, h3, m3, s3, h4, m4, s4 = found.groups()
    minutes, seconds = int(m2 or m3 or m4 or 0), int(s3 or s4 or 0)
    if minutes > _MAX_PART or seconds > _MAX_PART:
        return None
    offset = timedelta(hours=int(h1 or h2 or h3 or h4), minutes=minutes, seconds=seconds)
    if offset > _MAX_OFFSET:
        return None
    return timezone(-offset if sign == "-" else offset)


@cache
def _regions() -> frozenset[str]:
    return frozenset(available_timezones() - _NOT_JAVAS)


class ClockOffsets(NamedTuple):
    """How far the clocks of a zone are ahead of UTC, by the time that they show.

    From `starts[i]` on, microseconds since 1970 of local time, they are `offsets[i]` microseconds
    ahead. Before the first and from `known_until` on nothing is said.
    """

    starts: "array[int]"
    offsets: "array[int]"
    known_until: int


@lru_cache(16)
def clock_offsets(zone: tzinfo) -> ClockOffsets:
    """The offsets of a zone from 1970 to 2070: what is outside is seldom."""
    if isinstance(zone, timezone):
        fixed = zone.utcoffset(None) // _MICROSECOND
        return ClockOffsets(array("q", [-_ALWAYS]), array("q", [fixed]), _ALWAYS)
    day = datetime(1970, 1, 1, tzinfo=UTC)
    last = datetime(2070, 1, 1, tzinfo=UTC)
    offset = _offset_at(day, zone)
    starts, offsets = [offset], [offset]
    while day < last:
        following = day + _STEP
        then = _offset_at(following, zone)
        if then != offset:
            moment = _change(day, following, zone)
            starts.append((moment - _EPOCH_UTC) // _MICROSECOND + max(offset, then))
            offsets.append(then)
            offset = then
        day = following
    until = (last - _EPOCH_UTC) // _MICROSECOND + offset
    return ClockOffsets(array("q", starts), array("q", offsets), until)


def _change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The second at which clocks change between two times."""
    old = _offset_at(before, zone)
    low, high = 0, int((after - before).total_seconds())
    while high - low > 1:
        middle = (low + high) // 2
        if _offset_at(before + timedelta(seconds=middle), zone) == old:
            low = middle
        else:
            high = middle
    return before + timedelta(seconds=high)


def _offset_at(moment: datetime, zone: tzinfo) -> int:
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None
    return offset // _MICROSECOND
