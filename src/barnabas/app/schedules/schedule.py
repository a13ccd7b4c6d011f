"""One schedule: a function, when it is called, and where its result is sent."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from barnabas.app.calls import call
from barnabas.app.dependencies import RunSync
from barnabas.app.outgoing import Encoded, Outgoing
from barnabas.app.schedules.ticks import Ticks, moment_of
from barnabas.app.values.model_values import ModelValues, loaded
from barnabas.errors import InvalidArgument

TICK_HEADER = "schedule.tick"
"""The time for which a record was made, in ISO 8601."""
_SUFFIX = ".schedules"


@dataclass(frozen=True)
class Schedule:
    name: str
    function: Callable[..., Any]
    produces: str
    group: str
    ticks: Ticks
    time_zone: str
    catch_up_ms: int
    values: ModelValues = field(default_factory=ModelValues)

    def __post_init__(self) -> None:
        for what, given in (("produces", self.produces), ("group", self.group)):
            if not given:
                raise InvalidArgument(f"schedule {self.name}: {what} is the name of a {what}")
        if self._takes > 1:
            raise InvalidArgument(
                f"schedule {self.name}: the function takes the time of the tick, or nothing"
            )

    @property
    def _takes(self) -> int:
        return len(inspect.signature(self.function).parameters)

    async def call(self, tick_ms: int, run_sync: RunSync) -> list[Encoded]:
        """The records for a tick."""
        moment = moment_of(tick_ms, self.time_zone)
        arguments = [moment][: self._takes]
        result = await call(self.function, *arguments, run_sync=run_sync)
        results = result if isinstance(result, list) else [result]
        header = (TICK_HEADER, moment.isoformat().encode())
        found = [each for each in results if each is not None]
        return await loaded(lambda: [self._record(each, header) for each in found])

    def _record(self, result: Any, header: tuple[str, bytes]) -> Encoded:
        outgoing = result if isinstance(result, Outgoing) else Outgoing(result)
        key = self.name if outgoing.key is None else outgoing.key
        topic = outgoing.topic or self.produces
        return Encoded(
            topic,
            self.values.encode(topic, outgoing.value),
            key.encode() if isinstance(key, str) else key,
            (header, *outgoing.headers),
        )


def schedules_topic(group: str) -> str:
    """The topic that remembers the ticks; also the group, and the transactional id."""
    return group + _SUFFIX


def by_group(schedules: Sequence[Schedule]) -> dict[str, list[Schedule]]:
    found: dict[str, list[Schedule]] = {}
    for each in schedules:
        found.setdefault(each.group, []).append(each)
    return found
