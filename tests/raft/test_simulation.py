"""Many simulations; a failing one says how to see it again."""

import os

import pytest

from tests.raft.simulation import run_seed

SEEDS = 300
FIRST_SEED = int(os.environ.get("RAFT_FIRST_SEED", "0"))
GROUP = 20


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + SEEDS, GROUP))
def test_whatever_goes_wrong_the_replicas_agree(first: int) -> None:
    committed = reads = leaders = 0
    for seed in range(first, first + GROUP):
        checker = run_seed(seed).checker
        committed += len(checker.committed)
        reads += checker.reads
        leaders += len(checker.leaders)
    assert min(committed, reads, leaders) >= GROUP, "runs in which nothing happens prove nothing"


def test_a_seed_decides_everything() -> None:
    runs = [run_seed(7) for _ in range(2)]
    assert runs[0].checker.committed == runs[1].checker.committed
    assert runs[0].checker.leaders == runs[1].checker.leaders
    assert runs[0].now == runs[1].now
