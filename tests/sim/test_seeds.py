"""Three hundred seeds, each a whole cluster that is hurt and has to keep its promises.

They run in processes of their own, as the command does, so that a seed that fails here fails in the
same way with the command that the failure names.
"""

import os
import subprocess
import sys

import pytest

SEEDS = 300
AT_ONCE = 10


def _simulate(*arguments: str, hash_seed: str = "0") -> str:
    command = [sys.executable, "-m", "barnabas.sim", *arguments]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_promises_are_kept(first: int) -> None:
    told = _simulate("--seeds", f"{first}-{first + AT_ONCE - 1}", "--jobs", "1")
    assert f"{AT_ONCE} seeds, no violation" in told


@pytest.mark.parametrize("seed", [3, 1001])
def test_a_seed_is_the_same_run_every_time(seed: int) -> None:
    runs = {_simulate("--seed", str(seed)) for _ in range(2)}
    assert len(runs) == 1
    (told,) = runs
    assert "faults stop" in told
    assert f"seed {seed} " in told
