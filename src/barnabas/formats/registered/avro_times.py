"""Dates, times of day and moments for Avro, or the numbers that Avro has for them.

fastavro cuts microseconds off where the unit is a millisecond, and writes numbers that no reader
can turn into a date again.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from barnabas.errors import ValidationFailed
from barnabas.formats.registered.avro_expected import Check, expected

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY_US = 24 * 3600 * 1_000_000
_MILLISECOND_US = 1_000
_MOMENTS_US = (
    (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND,
    (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND,
)
_DAYS = ((date.min - _EPOCH.date()).days, (date.max - _EPOCH.date()).days)
_YEARS = "it has to be in the years 1 to 9999"
_IN_A_DAY = "it has to be less than a day, and not negative"


class _Range(NamedTuple):
    """The numbers that are values of a type."""

    low: int
    high: int
    rule: str

    def check(self, value: int, shown: object) -> None:
        if not self.low <= value <= self.high:
            raise ValidationFailed("", f"{shown} is out of range: {self.rule}")


def _date(_: Mapping[str, Any]) -> Check:
    numbers = _Range(*_DAYS, _YEARS)

    def check(value: Any) -> Any:
        if type(value) is int:
            numbers.check(value, value)
        elif not isinstance(value, date) or isinstance(value, datetime):
            raise expected("a date", value)
        return value

    return check


def _time(unit_us: int) -> Callable[..., Check]:
    numbers = _Range(0, _DAY_US // unit_us - 1, _IN_A_DAY)

    def check(value: Any) -> Any:
        if type(value) is int:
            numbers.check(value, value)
            return value
        if not isinstance(value, time) or value.tzinfo is not None:
            raise expected("a time of day without a time zone", value)
        _check_unit(value, unit_us)
        return value

    return lambda _: check


def _moment(unit_us: int, *, has_zone: bool) -> Callable[..., Check]:
    low, high = _MOMENTS_US
    numbers = _Range(-(-low // unit_us), high // unit_us, _YEARS)
    what = "a datetime without a time zone"
    if has_zone:
        what = "a datetime with a time zone, such as datetime.now(UTC)"

    def check(value: Any) -> Any:
        if type(value) is int:
            numbers.check(value, value)
            return value
        if not isinstance(value, datetime) or (value.tzinfo is not None) is not has_zone:
            raise expected(what, value)
        _check_unit(value, unit_us)
        if has_zone and value.year in (date.min.year, date.max.year):  # UTC has it elsewhere
            numbers.check((value - _EPOCH) // _MICROSECOND // unit_us, value)
        return value

    return lambda _: check


def _check_unit(value: datetime | time, unit_us: int) -> None:
    if value.microsecond % unit_us:
        raise ValidationFailed(
            "", f"{value.isoformat()} has microseconds, and the schema has only milliseconds"
        )


TIMES: dict[tuple[str, str], Callable[[Mapping[str, Any]], Check]] = {
    ("int", "date"): _date,
    ("int", "time-millis"): _time(_MILLISECOND_US),
    ("long", "time-micros"): _time(1),
    ("long", "timestamp-millis"): _moment(_MILLISECOND_US, has_zone=True),
    ("long", "timestamp-micros"): _moment(1, has_zone=True),
    ("long", "local-timestamp-millis"): _moment(_MILLISECOND_US, has_zone=False),
    ("long", "local-timestamp-micros"): _moment(1, has_zone=False),
}
"""What makes the checks, by types and logical types."""
