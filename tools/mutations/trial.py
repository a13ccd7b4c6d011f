"""Tries one mutation: runs its areas until a test fails, and makes sure that the fault is why."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutations.first_failure import VARIABLE
from tools.mutations.mutation import Mutation
from tools.mutations.tree import Tree

TEST_TIMEOUT_S = 120
"""A fault that makes a test wait forever is found by it."""
NOTHING_TO_RUN = 5
"""The exit code of pytest for an area without tests in this tier."""

_running: "set[subprocess.Popen[str]]" = set()
"""Of all threads, so that an interrupted run leaves nothing behind."""
_interrupted = threading.Event()


class Interrupted(Exception):  # noqa: N818 - says what has happened
    """The whole run ends; what this trial would have found is not known."""


@dataclass(frozen=True)
class Trial:
    """What became of a mutation."""

    found_by: str | None
    """The node id of the test that failed."""
    seconds: float
    tier: str
    note: str = ""


@dataclass(frozen=True)
class Limits:
    """How far to go for one mutation."""

    tier: str
    area_timeout_s: float
    thorough: bool


def try_mutation(tree: Tree, mutation: Mutation, limits: Limits) -> Trial:
    began = time.monotonic()
    notes: list[str] = []
    areas = [f"tests/{area}" for area in mutation.areas]
    runs = [[area] for area in areas]
    if limits.thorough:
        runs.append(["tests", *(f"--ignore={area}" for area in areas)])
    for run in runs:
        whole_tier = run[0] == "tests"
        timeout_s = None if whole_tier else limits.area_timeout_s
        found_by = _search(tree, mutation, run, limits.tier, timeout_s, notes)
        if found_by is not None:
            return Trial(found_by, time.monotonic() - began, limits.tier, "; ".join(notes))
    return Trial(None, time.monotonic() - began, limits.tier, "; ".join(notes))


def _search(
    tree: Tree,
    mutation: Mutation,
    run: Sequence[str],
    tier: str,
    timeout_s: float | None,
    notes: list[str],
) -> str | None:
    """The first test that fails with the fault and passes without it."""
    excluded: list[str] = []
    while True:
        options = [*run, *(f"--deselect={each}" for each in excluded)]
        with tree.mutated(mutation):
            failed = _run_pytest(tree, options, tier, timeout_s)
        if isinstance(failed, Timeout):
            notes.append(f"{run[0]} took longer than {timeout_s:.0f} s")
            return None
        if failed is None:
            return None
        again = _run_pytest(tree, [failed], tier, timeout_s)
        if again is None:
            return failed
        notes.append(f"{failed} fails without the fault too")
        if failed in excluded:  # an error while collecting can't be left out
            return None
        excluded.append(failed)


class Timeout:
    """The tests did not end in time."""


def _run_pytest(
    tree: Tree, options: Sequence[str], tier: str, timeout_s: float | None
) -> str | Timeout | None:
    """The node id of the first failure, None if there is none."""
    if _interrupted.is_set():
        raise Interrupted
    quick = ["--quick"] if tier == "quick" else []
    with tempfile.TemporaryDirectory(prefix="barnabas-mutation-") as directory:
        note = Path(directory, "failed")
        process = subprocess.Popen(
            [
                *(str(tree.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
                *("-p", "tools.mutations.first_failure", "--timeout", str(TEST_TIMEOUT_S)),
                *quick,
                *options,
            ],
            cwd=tree.root,
            env=os.environ | {VARIABLE: str(note), "TMPDIR": directory},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        _running.add(process)
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return Timeout()
        finally:
            _running.discard(process)
        if _interrupted.is_set():
            raise Interrupted
        if note.exists():
            return note.read_text()
        if process.returncode not in (0, NOTHING_TO_RUN):
            raise RuntimeError(f"pytest {' '.join(options)} could not run:\n{output[-4000:]}")
        return None


def end_all() -> None:
    """The run was interrupted: end the tests that are under way."""
    _interrupted.set()
    for process in list(_running):
        process.send_signal(signal.SIGINT)


def _end(process: "subprocess.Popen[str]") -> None:
    """Interrupt the tests, so that they end their brokers; kill what is left."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
