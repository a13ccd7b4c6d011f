"""An application in the simulation: its schedule and its state take part, and repeatably."""

import pytest

from barnabas.sim import run
from barnabas.sim.reduction import Reduction
from barnabas.sim.run import Outcome, play, prepare
from barnabas.sim.workloads.service import ServiceWorkload
from tests.sim.service_variants import ALONE

SEED = 32


@pytest.fixture(autouse=True)
def in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_SERVICES", 1.0)


def played(reduction: Reduction) -> tuple[Outcome, ServiceWorkload]:
    prepared = prepare(SEED, reduction=reduction)
    play(prepared)
    service = prepared._service
    assert service is not None
    return prepared.outcome(), service


def test_ticks_are_counted_while_workers_are_killed() -> None:
    """Without other clients and faults."""
    _, service = played(ALONE)
    assert service.ticks >= 20
    assert service.workers_started > 2


def test_the_same_seed_is_the_same_run() -> None:
    first, service = played(Reduction())
    assert service.ticks >= 20
    again, _ = played(Reduction())
    assert again == first
