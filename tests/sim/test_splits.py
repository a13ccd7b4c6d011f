"""Runs that split: a future repeats by its name, and leaves its seed the run that it was."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.sim import splits
from barnabas.sim.forks import Failure, forked
from barnabas.sim.process.simulator import Simulator
from barnabas.sim.profile import FAULTS
from barnabas.sim.reduction import PARTS, Reduction
from barnabas.sim.run import Outcome, Run, play
from barnabas.sim.run import prepare as prepare_any
from barnabas.sim.splits import Future, explore, follow, parsed, written

_SEED = 22


def _prepare(seed: int, emphasis: str | None = None) -> Run:
    """A short run with enough faults."""
    del emphasis
    short = Reduction(without=frozenset(PARTS), faulty_ms=2_000)
    return prepare_any(seed, "kills", None, short)


@pytest.fixture(autouse=True)
def _short_runs_that_split_at_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "prepare", _prepare)
    monkeypatch.setattr(splits, "STATES", {f"fault: {name}" for name in FAULTS})
    monkeypatch.setattr(splits, "MOST_POINTS", 2)


def _followed(run: Run, which: splits.Splits) -> Outcome:
    follow(run, which)
    play(run)
    return run.outcome()


def _in_a_process(work: Callable[[int], list[Future]]) -> list[Any]:
    [(_, futures)] = forked(work, iter((_SEED,)), 1)
    assert not isinstance(futures, Failure), str(futures)
    return futures


def test_a_branch_draws_other_numbers_and_repeats() -> None:
    def draws(*branches: str) -> list[float]:
        simulator = Simulator(1)
        first = simulator.source("first")
        first.random()
        for branch in branches:
            simulator.branch(branch)
        return [first.random(), simulator.source("second").random()]

    assert draws("1:1") == draws("1:1")
    assert len({*draws(), *draws("1:1"), *draws("1:2"), *draws("1:1", "2:1")}) == 8


def test_splits_are_written_as_they_are_read() -> None:
    assert parsed(written(((3, 2), (5, 1)))) == ((3, 2), (5, 1))
    with pytest.raises(ValueError, match="invalid literal"):
        parsed("x:1")


def test_a_future_repeats_and_leaves_its_seed_as_it_was() -> None:
    seed, *futures = _in_a_process(lambda seed: explore(seed, futures=1))
    assert [future.splits for future in futures] == [((1, 1),), ((2, 1),)]
    unsplit = _followed(_prepare(_SEED), ())
    assert seed.splits == ()
    assert seed.result.trace_digest == unsplit.trace_digest
    assert len({each.result.trace_digest for each in (seed, *futures)}) == 3
    last = futures[-1]
    assert 0 < last.shared_ms < last.result.virtual_ms
    assert _followed(_prepare(_SEED), last.splits) == last.result


def test_a_future_that_fails_is_a_result_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(run: Run, _us: int) -> None:
        if str(run.simulator.seed).endswith("@1:1"):
            raise AssertionError("broken from there on")
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Run, "end_faults_within", end)
    seed, first, second = _in_a_process(lambda seed: explore(seed, futures=1))
    assert isinstance(seed.result, Outcome)
    assert first.result == Failure("AssertionError", "broken from there on")
    assert "ended with -9" in str(second.result)
