"""Many seeds, each a whole cluster that is hurt and has to keep its promises.

They run in processes of their own, as the command does, so that a seed that fails here fails in the
same way with the command that the failure names.

Besides these, which are the same every time, some new ones run. A failure names
the seed; BARNABAS_SIM_SEEDS=362099312517,437803144833 runs these instead of new ones.
"""

import os
import random
import subprocess
import sys

import pytest

SEEDS = 140
AT_ONCE = 10
FRESH = 40
"""They find more than those that always run: about 40 seconds of one core."""
PARTS = 4
FRESH_VARIABLE = "BARNABAS_SIM_SEEDS"

FOUND = {
    141314677037: "a replica whose last batch had a damaged epoch never caught up again",
    1088627820804: "a power loss emptied the checkpoint that would have shown a missing end",
    20836794810: "after a blackout an empty partition waited for an operator who never came",
    249917256907: "a late failure of a former fetch stopped a partition from being fetched",
    284744709453: "a lost segment was not missed, since log.state did not list it",
    362099312517: "a fenced coordinator told committed offsets that others had replaced",
    365033298638: "a follower whose log was cut waited for ever for a flush of what was gone",
    435077557936: "a replica that had cut off damage led for a moment in an epoch from before",
    437803144833: "a follower whose disk was full did not cut what its leader never had",
    490386231724: "a replica with a hole cut its log before the controller knew, and led later",
    534047501356: "a producer was fenced that repeated InitProducerId at another coordinator",
    592830267001: "a follower that had cut its log took in an answer to an earlier fetch",
    630294876082: "a leader with the only copy of a batch with a damaged epoch was not followed",
    634916834290: "a topic created on nodes that had lost power was said to have lost records",
    678315086896: "a leader that was cut off told an end that others had moved beyond",
    937987442451: "a replica that had led with a hole in its log kept the hole when it followed",
    1425271087: "a log that had lost its first segment in a power loss began later, and led",
    950631669889: "a leader that was replaced called a producer's transaction invalid",
}
"""Seeds that once broke a promise. They mean something else whenever the code draws another
number, so what each of them found has a test of its own, too."""


def _simulate(*arguments: str, allocator: str = "default") -> str:
    command = [sys.executable, "-m", "barnabas.sim", *arguments]
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONMALLOC": allocator}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_promises_are_kept(first: int) -> None:
    told = _simulate("--seeds", f"{first}-{first + AT_ONCE - 1}", "--jobs", "1")
    assert f"{AT_ONCE} seeds, no violation" in told


def _fresh_seeds(part: int) -> str:
    chosen = os.environ.get(FRESH_VARIABLE)
    if chosen:
        return ",".join(chosen.split(",")[part::PARTS])
    first = random.SystemRandom().randrange(1 << 40)
    return f"{first}-{first + FRESH // PARTS - 1}"


@pytest.mark.parametrize("part", range(PARTS))
def test_promises_are_kept_with_seeds_that_nobody_has_tried(part: int) -> None:
    seeds = _fresh_seeds(part)
    if seeds:
        _simulate("--seeds", seeds, "--jobs", "1")


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_stays_mended(seed: int) -> None:
    _simulate("--seeds", str(seed), "--jobs", "1")


@pytest.mark.parametrize("seed", [3, 7, 19, 40, 1001])
def test_a_seed_is_the_same_run_every_time(seed: int) -> None:
    """Whatever the addresses of objects are: they decide the order of a set of such objects."""
    runs = {_simulate("--seed", str(seed), allocator=each) for each in ("default", "malloc")}
    assert len(runs) == 1
    (told,) = runs
    assert "faults stop" in told
    assert f"seed {seed} " in told


def test_seeds_run_on_several_cores() -> None:
    """As `make soak` runs them: in processes that are started for it."""
    told = _simulate("--seeds", "0-2", "--jobs", "2")
    assert "3 seeds, no violation" in told
