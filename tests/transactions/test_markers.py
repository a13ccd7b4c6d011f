"""Markers: every partition is told how a transaction ended, whatever happens meanwhile."""

import pytest

from barnabas.transactions import TransactionConfig
from barnabas.transactions.state import TxnState
from barnabas.wire.errors import ErrorCode
from tests.transactions.seed import seeded
from tests.transactions.shell import ID, T0, T1, U0, Shell

RETRY_MS = TransactionConfig().persist_retry_ms


def ending(*partitions: tuple[str, int]) -> Shell:
    """The markers of a committed transaction are under way."""
    shell = Shell()
    identity = shell.begin(*partitions)
    shell.marks_at_once = False
    assert shell.error(shell.end(identity, True)) == ErrorCode.NONE
    return shell


def test_it_is_complete_when_all_partitions_know() -> None:
    shell = ending(T0, T1, U0)
    (markers,) = shell.markers
    shell.mark(markers, T0, U0)
    assert shell.state() == "PrepareCommit"
    shell.mark(markers, T0)
    assert shell.state() == "PrepareCommit"
    shell.mark(markers, T1)
    assert shell.state() == "CompleteCommit"
    assert shell.shard.describe(ID).topics == []


def test_markers_of_another_end_do_not_count() -> None:
    shell = ending(T0)
    (markers,) = shell.markers
    shell.mark(markers._replace(producer_epoch=5))
    shell.mark(markers._replace(producer_id=5))
    shell.mark(markers._replace(transactional_id="other"))
    assert shell.state() == "PrepareCommit"


def test_markers_that_come_late_change_nothing() -> None:
    shell = ending(T0)
    (markers,) = shell.markers
    shell.mark(markers)
    before = len(shell.log)
    shell.mark(markers)
    assert len(shell.log) == before
    assert shell.error(shell.add((1_000, 0), T1)) == ErrorCode.NONE
    shell.mark(markers, T1)
    assert shell.state() == "Ongoing"


def test_late_markers_while_the_next_end_is_in_flight() -> None:
    """It is not decided yet, so none of its partitions can know."""
    shell = ending(T0)
    (markers,) = shell.markers
    shell.mark(markers)
    shell.add((1_000, 0), T0)
    shell.persists_at_once = False
    shell.end((1_000, 0), False)
    shell.mark(markers)
    shell.persist_all()
    assert shell.state() == "PrepareAbort"


@pytest.mark.parametrize(
    ("state", "committed"), [(TxnState.PREPARE_COMMIT, True), (TxnState.PREPARE_ABORT, False)]
)
def test_a_new_coordinator_goes_on(state: TxnState, committed: bool) -> None:
    shell = seeded(epoch=4, state=state, partitions=frozenset({T0, T1}), start_ms=0)
    assert shell.markers == [(ID, 7, 4, committed, 0, {T0, T1})]
    shell.mark(shell.markers[0])
    assert shell.state() == ("CompleteCommit" if committed else "CompleteAbort")


def test_a_new_coordinator_completes_what_needs_no_markers() -> None:
    shell = seeded(epoch=4, state=TxnState.PREPARE_ABORT, start_ms=0)
    assert not shell.markers
    assert shell.state() == "CompleteAbort"


def test_a_new_coordinator_does_not_touch_what_goes_on() -> None:
    shell = seeded(epoch=4, state=TxnState.ONGOING, partitions=frozenset({T0}), start_ms=0)
    assert not shell.markers
    assert len(shell.log) == 1
    assert shell.error(shell.end((7, 4), True)) == ErrorCode.NONE


def test_a_completion_that_fails_is_tried_again() -> None:
    shell = ending(T0)
    shell.persists_at_once = False
    shell.mark(shell.markers[0])
    shell.fail_next()
    assert shell.state() == "PrepareCommit"
    shell.advance(RETRY_MS - 1)
    assert not shell.in_flight
    shell.advance(1)
    shell.fail_next()
    shell.persists_at_once = True
    shell.advance(RETRY_MS)
    assert shell.state() == "CompleteCommit"
    assert len(shell.markers) == 1


def test_a_completion_in_flight_is_enough() -> None:
    shell = ending(T0)
    shell.persists_at_once = False
    shell.mark(shell.markers[0])
    shell.mark(shell.markers[0])
    shell.advance(10 * RETRY_MS)
    assert len(shell.in_flight) == 1


def test_deleted_topics_need_no_markers() -> None:
    shell = ending(T0, U0)
    shell.carry_out(shell.shard.topics_deleted({"u", "v"}, now_ms=shell.now_ms))
    assert shell.state() == "PrepareCommit"
    shell.carry_out(shell.shard.topics_deleted(["t"], now_ms=shell.now_ms))
    assert shell.state() == "CompleteCommit"


def test_markers_are_awaited_until_they_are_written() -> None:
    shell = ending(T0, T1)
    (markers,) = shell.markers
    assert shell.shard.awaits(markers, T0)
    assert not shell.shard.awaits(markers, U0)
    shell.mark(markers, T0)
    assert not shell.shard.awaits(markers, T0)
    assert shell.shard.awaits(markers, T1)


def test_markers_are_not_awaited_for_another_transaction_that_is_just_like_it() -> None:
    """A topic is deleted and created again while a marker is being written there."""
    shell = ending(T0)
    shell.carry_out(shell.shard.topics_deleted(["t"], now_ms=shell.now_ms))
    shell.add((1_000, 0), T0)
    shell.end((1_000, 0), True)
    old, new = shell.markers
    assert old == new
    assert not shell.shard.awaits(old, T0)
    assert shell.shard.awaits(new, T0)


def test_deleted_topics_do_not_end_anything() -> None:
    shell = Shell()
    shell.begin(T0)
    shell.carry_out(shell.shard.topics_deleted(["t"], now_ms=shell.now_ms))
    assert shell.state() == "Ongoing"


def test_nobody_sends_markers_of_an_end_that_is_not_persisted() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.persists_at_once = False
    shell.end(identity, True)
    shell.resign()
    assert not shell.markers
    reborn = shell.restart()
    assert reborn.state() == "Ongoing"
    assert not reborn.markers
