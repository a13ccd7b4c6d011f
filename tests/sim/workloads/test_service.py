"""An application in the simulation: its schedule and its state take part, and repeatably."""

from dataclasses import replace

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
    assert service.ticks >= 10
    assert service.workers_started > 2


def test_the_same_seed_is_the_same_run() -> None:
    """With faults."""
    reduction = replace(ALONE, faults=None, faulty_ms=3_000)
    first, service = played(reduction)
    assert service.ticks >= 10
    again, _ = played(reduction)
    assert again == first
