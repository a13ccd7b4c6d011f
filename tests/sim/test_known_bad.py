"""A simulator that finds nothing proves nothing: with a rule broken, it must find a violation."""

import os
import subprocess
import sys

import pytest

from tests.sim.variants import UNSEEN, VARIANTS


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in UNSEEN])
def test_the_simulator_finds(name: str) -> None:
    """In a process of its own, with the hashes of strings that the seeds were tried with."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim.find_violation", name],
        env=os.environ | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.startswith("seed ")
