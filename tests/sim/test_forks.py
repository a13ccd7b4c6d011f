"""Runs in forked processes: results, exceptions, and processes that die."""

import os
import signal
from itertools import count

import pytest

from barnabas.sim.forks import AT_ONCE, Failure, forked


def _square(number: int) -> int:
    if number == 13:
        raise ValueError("an unlucky number")
    if number == 17:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def test_every_run_has_a_result() -> None:
    numbers = range(3 * AT_ONCE)
    results = dict(forked(_square, iter(n for n in numbers if n != 13), 2))
    assert results == {n: n * n for n in numbers if n != 13}


def test_an_exception_is_the_result_of_its_run_alone() -> None:
    results = dict(forked(_square, iter((12, 13, 14)), 1))
    assert results == {12: 144, 13: Failure("ValueError", "an unlucky number"), 14: 196}


def test_a_run_that_kills_its_process_has_failed() -> None:
    results = dict(forked(_square, iter((16, 17)), 1))
    assert results[16] == 256
    assert isinstance(results[17], Failure)
    assert "ended with -9" in results[17].message


def test_runs_that_nobody_waits_for_are_ended() -> None:
    results = forked(lambda _: os.getpid(), count(), 2)
    _, pid = next(results)
    results.close()
    assert isinstance(pid, int)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
