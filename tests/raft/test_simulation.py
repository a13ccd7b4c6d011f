"""Many simulations; a failing one says how to see it again."""

from collections import Counter

import pytest

from tests.raft.simulation import run_seed
from tests.support.tier import is_quick

SEEDS = 120 if is_quick() else 300
GROUP = 60
MUST_HAPPEN = (
    "elections",
    "commits",
    "reads",
    "truncations",
    "changes of voters",
    "snapshots from a leader",
    "crashes with unsynced writes",
    "wiped disks",
)


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_whatever_goes_wrong_the_replicas_agree(first: int) -> None:
    happened: Counter[str] = Counter()
    for seed in range(first, first + GROUP):
        happened += run_seed(seed).checker.happened
    unseen = [name for name in MUST_HAPPEN if happened[name] < 5]
    assert not unseen, f"runs in which nothing happens prove nothing: {happened}"


def test_a_seed_decides_everything() -> None:
    runs = [run_seed(7) for _ in range(2)]
    assert runs[0].checker.committed == runs[1].checker.committed
    assert runs[0].checker.leaders == runs[1].checker.leaders
    assert runs[0].now == runs[1].now
