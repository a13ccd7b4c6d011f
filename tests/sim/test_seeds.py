"""Many seeds, each a whole cluster that is hurt and has to keep its promises.

They run as the command runs them, so that a seed that fails here fails in the same way with the
command that the failure names.

Besides these, which are the same every time, `make test-all` and `make soak` run new ones: what CI
says of a change depends on the change alone. A failure names
the seed; BARNABAS_SIM_SEEDS=362099312517,437803144833 runs these instead of new ones.
"""

import os
import random
import subprocess
import sys

import pytest

from tests.sim.fork_server import HASH_SEED, ForkServer
from tests.support.tier import is_quick

SEEDS = 20 if is_quick() else 140
FRESH = 40
"""They find more than those that always run."""
AT_ONCE = 10
PARTS = 4
FRESH_VARIABLE = "BARNABAS_SIM_SEEDS"


def _simulate(forks: ForkServer, seeds: str) -> str:
    done = forks.run("barnabas.sim", "--seeds", seeds, "--jobs", "1")
    assert done.code == 0, str(done)
    return done.output


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_promises_are_kept(first: int, forks: ForkServer) -> None:
    told = _simulate(forks, f"{first}-{first + AT_ONCE - 1}")
    assert f"{AT_ONCE} seeds, no violation" in told


def _fresh_seeds(part: int) -> str:
    chosen = os.environ.get(FRESH_VARIABLE)
    if chosen:
        return ",".join(chosen.split(",")[part::PARTS])
    first = random.SystemRandom().randrange(1 << 40)
    return f"{first}-{first + FRESH // PARTS - 1}"


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_promises_are_kept_with_seeds_that_nobody_has_tried(part: int, forks: ForkServer) -> None:
    seeds = _fresh_seeds(part)
    if seeds:
        _simulate(forks, seeds)


def _in_a_process_of_its_own(*arguments: str, **variables: str) -> str:
    command = [sys.executable, "-m", "barnabas.sim", *arguments]
    environment = os.environ | HASH_SEED | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("seed", [3, 7] if is_quick() else [3, 7, 19, 40, 1001])
def test_a_seed_is_the_same_run_every_time(seed: int, forks: ForkServer) -> None:
    """Whatever the addresses of objects are: they decide the order of a set of such objects.

    And whether it is run by a command or by a fork.
    """
    forked = forks.run("barnabas.sim", "--seed", str(seed)).output
    assert "faults stop" in forked
    assert f"seed {seed} " in forked
    assert _in_a_process_of_its_own("--seed", str(seed), PYTHONMALLOC="malloc") == forked


@pytest.mark.long
def test_seeds_run_on_several_cores() -> None:
    """As `make soak` runs them: in processes that are started for it."""
    told = _in_a_process_of_its_own("--seeds", "0-2", "--jobs", "2")
    assert "3 seeds, no violation" in told
