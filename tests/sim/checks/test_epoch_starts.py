"""Replicas that know something else about where leader epochs began."""

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.log.leader_epochs import LeaderEpochs
from barnabas.sim.checks.epoch_starts import check_epoch_starts
from barnabas.sim.checks.history import Violation


def replica(entries: list[tuple[int, int]], *, start: int = 0, end: int = 9) -> Any:
    log = SimpleNamespace(log_start_offset=start, log_end_offset=end, epochs=LeaderEpochs(entries))
    return SimpleNamespace(name="t-0", log=log)


def test_a_replica_that_misses_an_epoch_is_found() -> None:
    leader = replica([(0, 0), (1, 3), (2, 5)])
    check_epoch_starts(leader, leader, "node 1")
    with pytest.raises(Violation, match=r"at \[\(2, 5\)\] on node 1"):
        check_epoch_starts(leader, replica([(0, 0), (2, 5)]), "node 1")
    with pytest.raises(Violation, match="t-0: epochs began"):
        check_epoch_starts(leader, replica([(0, 0), (1, 4), (2, 5)]), "node 1")


def test_what_only_one_of_them_can_know_may_differ() -> None:
    leader = replica([(0, 0), (1, 3), (2, 9)])
    check_epoch_starts(leader, replica([(0, 0), (1, 3)]), "node 1")
    check_epoch_starts(leader, replica([(1, 4)], start=4), "node 1")
