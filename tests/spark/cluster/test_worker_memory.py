"""Workers of Spark do not search what they have loaded for garbage after every task."""

import gc
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from barnabas.spark.cluster import worker_memory
from barnabas.spark.cluster.worker_memory import freeze_loaded_objects


@pytest.fixture(autouse=True)
def frozen_nothing() -> Iterator[None]:
    gc.unfreeze()
    worker_memory._settled_pids.clear()
    yield
    gc.unfreeze()
    worker_memory._settled_pids.clear()


def run_as(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    program = ModuleType("__main__")
    program.__spec__ = ModuleSpec(name, None)
    monkeypatch.setitem(sys.modules, "__main__", program)


def test_a_worker_keeps_what_it_has_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run_as(monkeypatch, "pyspark.daemon")
    freeze_loaded_objects()
    kept = gc.get_freeze_count()
    assert kept > 1000
    cycle: list[object] = []
    cycle.append(cycle)
    freeze_loaded_objects()
    assert gc.get_freeze_count() <= kept, "what comes later is searched as ever"


def test_other_processes_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    run_as(monkeypatch, "my_pipeline")
    freeze_loaded_objects()
    assert gc.get_freeze_count() == 0
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    freeze_loaded_objects()
    assert gc.get_freeze_count() == 0
