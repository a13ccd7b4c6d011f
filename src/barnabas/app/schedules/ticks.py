"""The times of a schedule: cron expressions, and intervals.

Times are milliseconds since 1970. Nothing is remembered here: a time follows from the one before.
"""

import math
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from barnabas.client.durations import Duration, seconds
from barnabas.errors import InvalidArgument

_FIRST_LOOK_MS = 60_000


class Ticks(Protocol):
    @property
    def text(self) -> str:
        """What it was made from: with another text, it is another schedule."""

    def after(self, time_ms: int) -> int:
        """The first tick later than a time."""


class Interval:
    """At the multiples of a duration since 1970 in UTC: "1h" is each full hour."""

    def __init__(self, every: Duration) -> None:
        self._every_ms = round(seconds(every, "every") * 1000)
        if self._every_ms < 1:
            raise InvalidArgument(f"every={every!r}: the shortest is a millisecond")
        self.text = f"every {self._every_ms} ms"

    def after(self, time_ms: int) -> int:
        return (time_ms // self._every_ms + 1) * self._every_ms


class Cron:
    """A cron expression of five fields (six: with seconds) in a time zone.

    Where clocks change, a job at a fixed time comes once, as with the cron of Debian.
    """

    def __init__(self, expression: str, time_zone: str) -> None:
        try:
            from cronsim import CronSim, CronSimError
        except ImportError as error:
            raise InvalidArgument(
                "cron expressions need cronsim: pip install 'barnabas[schedules]'"
            ) from error
        self._cron_sim = CronSim
        self._expression = expression
        self.text = f"{expression} {time_zone}"
        self._zone = zone_of(time_zone)
        try:
            self.after(0)
        except (CronSimError, StopIteration) as error:
            raise InvalidArgument(
                f'schedule {expression!r}: {str(error) or "it never comes"}; write "0 6 * * *" for '
                "six o'clock each day: minute, hour, day, month, day of the week"
            ) from error

    def after(self, time_ms: int) -> int:
        # Whole seconds: the library leaves fractions in its times.
        moment = datetime.fromtimestamp(math.floor(time_ms / 1000), self._zone)
        # An hour that comes twice is one to the library: what it finds may lie in the first one.
        found = (
            round(each.timestamp() * 1000) for each in self._cron_sim(self._expression, moment)
        )
        return next(tick for tick in found if tick > time_ms)


def ticks_of(cron: str | None, every: Duration | None, time_zone: str) -> Ticks:
    if (cron is None) == (every is None):
        raise InvalidArgument('a schedule has a cron expression, or every="10m": give one of them')
    zone_of(time_zone)
    return Interval(every) if every is not None else Cron(cron or "", time_zone)


def zone_of(time_zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidArgument(
            f'time_zone={time_zone!r}: no such time zone; write "Europe/Berlin"'
        ) from error


def due(ticks: Ticks, last_ms: int, now_ms: int, catch_up_ms: int) -> list[int]:
    """The ticks after the last one, up to now: those of the latest `catch_up_ms`, or the latest."""
    look_ms = catch_up_ms
    found = _between(ticks, max(last_ms, now_ms - look_ms), now_ms)
    while not found and now_ms - look_ms > last_ms:
        look_ms = max(2 * look_ms, _FIRST_LOOK_MS)
        found = _between(ticks, max(last_ms, now_ms - look_ms), now_ms)[-1:]
    return found


def _between(ticks: Ticks, after_ms: int, until_ms: int) -> list[int]:
    found = []
    tick = ticks.after(after_ms)
    while tick <= until_ms:
        found.append(tick)
        tick = ticks.after(tick)
    return found


def moment_of(tick_ms: int, time_zone: str) -> datetime:
    return datetime.fromtimestamp(tick_ms / 1000, UTC).astimezone(zone_of(time_zone))
