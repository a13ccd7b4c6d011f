"""Goes on copying between rounds, in the process of a task, so that records do not wait for Spark.

Spark needs up to a second from one micro-batch to the next. The process of a task lives on, so what
it copies is copied on until the next task comes there: one for the same partitions continues it,
any other ends it. A task elsewhere takes over by fencing, as always. What was copied in between is
reported by the next round; later it would be out of order, and is left out.
"""

from collections.abc import Callable
from typing import NamedTuple

from barnabas.mirror.copy_round import CopyRound
from barnabas.mirror.flow import Flow
from barnabas.mirror.partition_copy import CopiedPartition
from barnabas.mirror.round_report import EARLIER, ReportRow


class RoundKey(NamedTuple):
    """What a round copies: equal ones can continue each other."""

    flow: Flow
    partitions: tuple[CopiedPartition, ...]
    share: float | None


class LingeringRounds:
    """Of one process; for the event loop of its connections."""

    def __init__(self) -> None:
        self._last: tuple[RoundKey, int, CopyRound] | None = None

    async def run(
        self, key: RoundKey, number: int, begin: Callable[[], CopyRound]
    ) -> list[ReportRow]:
        """A round; `number` is one more than that of the round before it."""
        rows: list[ReportRow] = []
        last, self._last = self._last, None
        work = None
        if last is not None:
            before, its_number, lingering = last
            if before == key and its_number + 1 == number and lingering.can_run_on:
                work = lingering
            else:
                late = await lingering.finish()
                if before.flow == key.flow and its_number + 1 == number:
                    rows = [each._replace(kind=EARLIER) for each in late]
        work = work or begin()
        rows += await work.run_on(key.flow.round_s, key.flow.linger_s)
        self._last = key, number, work
        return rows


LINGERING = LingeringRounds()
