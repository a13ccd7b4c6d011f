"""The check of voters notices a snapshot with other voters than those that are committed."""

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.sim.checks.history import Violation
from barnabas.sim.checks.voter_sets import VoterSets

ALL, TWO = ("a", "b", "c"), ("a", "c")


def raft(changes: dict[int, tuple[str, ...]], *, start: int, committed: int) -> Any:
    """A node's log: a change below its start is in the snapshot."""
    voters = [(offset, SimpleNamespace(keys=keys)) for offset, keys in changes.items()]
    snapshot = SimpleNamespace(voters=voters[0][1]) if start else None
    log = SimpleNamespace(
        start_offset=start, voters_offset=voters[-1][0], snapshot=snapshot, _voters=voters
    )
    return SimpleNamespace(_state=SimpleNamespace(log=log), high_watermark=committed)


def test_a_change_that_is_committed_and_in_a_snapshot_at_once() -> None:
    check = VoterSets()
    check.check(3, raft({1: ALL}, start=0, committed=2))
    check.check(3, raft({1: ALL, 7: TWO}, start=0, committed=5))
    check.check(3, raft({-1: TWO}, start=8, committed=8))
    with pytest.raises(Violation):  # it is known to be committed
        check.check(2, raft({-1: ALL}, start=8, committed=8))


def test_a_snapshot_with_voters_that_were_never_written() -> None:
    check = VoterSets()
    check.check(3, raft({1: ALL}, start=0, committed=2))
    with pytest.raises(Violation):
        check.check(3, raft({-1: TWO}, start=8, committed=8))


def test_a_snapshot_without_a_committed_change() -> None:
    check = VoterSets()
    check.check(3, raft({1: ALL, 7: TWO}, start=0, committed=8))
    with pytest.raises(Violation):
        check.check(3, raft({-1: ALL}, start=8, committed=8))
