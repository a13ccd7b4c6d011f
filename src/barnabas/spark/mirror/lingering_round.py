"""Goes on copying between rounds, in the process of a task, so that records do not wait for Spark.

Spark needs up to a second from one micro-batch to the next. The process of a task lives on, so what
it copies is copied on until the next task of the flow comes there: one for the same partitions
continues it, any other ends it. A task elsewhere takes over by fencing, as always. What was copied
in between is reported by the next round; later it would be out of order, and is only counted.
"""

from collections.abc import Callable
from typing import NamedTuple

from barnabas.mirror.copy_round import CopyRound
from barnabas.mirror.flow import Flow
from barnabas.mirror.partition_copy import CopiedPartition
from barnabas.mirror.round_report import EARLIER, LATE, ReportRow

STAGGER_S = 0.02
"""Spark gives tasks the idle processes in the order in which they became idle. Tasks that end one
after the other, in their order, get the processes that they had before."""


class RoundKey(NamedTuple):
    """What a round copies: equal ones can continue each other."""

    flow: Flow
    partitions: tuple[CopiedPartition, ...]
    share: float | None


class _Lingering(NamedTuple):
    key: RoundKey
    number: int
    work: CopyRound


class LingeringRounds:
    """Of one process, one for each flow; for the event loop of its connections."""

    def __init__(self) -> None:
        self._last: dict[str, _Lingering] = {}

    async def run(
        self, key: RoundKey, number: int, begin: Callable[[], CopyRound], *, task: int = 0
    ) -> list[ReportRow]:
        """A round; `number` is one more than that of the round before it, `task` counts from 0."""
        flow = key.flow
        rows: list[ReportRow] = []
        last = self._last.pop(flow.name, None)
        work = None
        if last is not None:
            is_next = last.key.flow == flow and last.number + 1 == number
            if is_next and last.key == key and last.work.can_run_on:
                work = last.work
            else:
                kind = EARLIER if is_next else LATE
                rows = [each._replace(kind=kind) for each in await last.work.finish()]
        work = work or begin()
        rows += await work.run_on(flow.round_s + task * STAGGER_S, flow.linger_s)
        self._last[flow.name] = _Lingering(key, number, work)
        return rows


LINGERING = LingeringRounds()
