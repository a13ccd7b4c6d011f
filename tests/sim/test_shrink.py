"""A failing run is reduced to what it takes to fail."""

import re

from barnabas.sim.reduction import PARTS, Reduction
from barnabas.sim.shrink import Shrinker, Trial
from tests.sim.fork_server import ForkServer

MOST = 1000


def _run(reduction: Reduction, guilty: set[int], parts: set[str], least_ms: int) -> Trial:
    """Fails if all of the guilty faults are made, with these parts, for that long."""
    faulty_ms = reduction.faulty_ms or 8_000
    faults = tuple(
        number
        for number in range(1, faulty_ms // 200 + 1)
        if reduction.faults is None or number in reduction.faults
    )
    had = frozenset(PARTS) - reduction.without
    fails = guilty <= {*faults} and parts <= had and faulty_ms >= least_ms
    failure = f"Violation: t-0: node {len(faults)} has a gap" if fails else None
    return Trial(failure, faults, had, faulty_ms)


def _shrunk(guilty: set[int], parts: set[str], least_ms: int, most: int = MOST) -> Shrinker:
    shrinker = Shrinker(
        lambda reduction: _run(reduction, guilty, parts, least_ms),
        most,
        _run(Reduction(), guilty, parts, least_ms),
    )
    shrinker.shrink()
    return shrinker


def test_only_what_is_needed_stays() -> None:
    shrinker = _shrunk({3, 7, 8}, {"transactions", "members"}, 2_000)
    assert shrinker.trial.faults == (3, 7, 8)
    assert shrinker.trial.parts == {"transactions", "members"}
    assert shrinker.trial.faulty_ms == 2_000
    assert shrinker.trial.failure == "Violation: t-0: node 3 has a gap"
    assert shrinker.attempts < 60


def test_a_run_that_needs_no_fault_has_none() -> None:
    shrinker = _shrunk(set(), set(), 0)
    assert shrinker.trial.faults == ()
    assert "--faults none" in str(shrinker.smallest)


def test_another_failure_does_not_count() -> None:
    def attempt(reduction: Reduction) -> Trial:
        return Trial("Stuck: not within 40000 ms", (1,), frozenset(), 400)

    failing = Trial("Violation: t-0", (1, 2), frozenset({"members"}), 4_000)
    shrinker = Shrinker(attempt, MOST, failing)
    shrinker.shrink()
    assert shrinker.smallest == Reduction()
    assert shrinker.trial is failing


def test_it_ends_after_so_many_attempts() -> None:
    shrinker = _shrunk({3, 7, 8}, {"transactions"}, 2_000, most=5)
    assert shrinker.attempts == 5
    assert shrinker.trial.failure is not None


def test_a_run_with_a_broken_rule_is_reduced_to_few_faults(forks: ForkServer) -> None:
    done = forks.run("tests.sim.find_violation", "elect from outside the in-sync set", "--shrink")
    assert done.code == 0, str(done)
    left = re.search(r"What is left: (\d+) faults", done.output)
    assert left is not None, str(done)
    assert int(left[1]) <= 5, str(done)
    assert "| fault" in done.output


def test_a_reduction_is_written_as_options() -> None:
    reduction = Reduction(frozenset({12, 3}), frozenset({"members", "real client"}), 1_500)
    assert str(reduction) == '--faults 3,12 --without "real client,members" --faulty-ms 1500'
    assert str(Reduction()) == ""
