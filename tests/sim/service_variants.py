"""Applications with a rule broken, whose workers are killed: without other clients and faults."""

from typing import Any
from unittest.mock import patch

from barnabas.app.schedules.scheduler import Scheduler
from barnabas.app.state.restoration import Restoration
from barnabas.sim import run
from barnabas.sim.reduction import PARTS, Reduction
from tests.sim.variant import Variant

original_read = Scheduler._read
original_start = Restoration._start


async def _forget_ticks(self: Scheduler, source: Any) -> dict[str, tuple[int, str]] | None:
    return None if await original_read(self, source) is None else {}


def _take_nothing_over(self: Restoration, one: Any, extent: Any) -> int:
    original_start(self, one, extent)
    end: int = extent.end
    return end


ALONE = Reduction(without=frozenset(PARTS) - {"services"}, faults=frozenset(), faulty_ms=1_000)


def kill_workers(seed: int) -> None:
    with patch.object(run, "_SERVICES", 1.0):
        run.play(run.prepare(seed, reduction=ALONE))


VARIANTS: dict[str, Variant] = {
    "begin schedules without the ticks of the worker before": Variant(
        [patch.object(Scheduler, "_read", _forget_ticks)], schedule=kill_workers
    ),
    "handle records without the state of the worker before": Variant(
        [patch.object(Restoration, "_start", _take_nothing_over)], schedule=kill_workers
    ),
}
