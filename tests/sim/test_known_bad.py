"""A simulator that finds nothing proves nothing: with a rule broken, it must find a violation."""

import os
import subprocess
import sys

import pytest

from tests.sim.variants import VARIANTS


@pytest.mark.parametrize("name", VARIANTS)
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


@pytest.mark.parametrize("name", [name for name, variant in VARIANTS.items() if variant.schedule])
def test_a_schedule_alone_violates_nothing(name: str) -> None:
    variant = VARIANTS[name]
    assert variant.schedule is not None
    for seed in range(variant.first_seed, variant.first_seed + 5):
        variant.schedule(seed)
