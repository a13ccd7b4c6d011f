"""Transactions that wait for an external decision, and new instances that keep them."""

import pytest

from barnabas.transactions import TransactionConfig
from barnabas.transactions.state import TxnState
from barnabas.wire.errors import ErrorCode
from tests.transactions.seed import seeded
from tests.transactions.shell import BUMPED, CLASSIC, CONFIG, ID, T0, T1, TIMEOUT_MS, Shell

LAST = 32_766
FOREVER_MS = 2**31 - 1
NONE = (-1, -1)


# -- no timeout ------------------------------------------------------------------------------------


def test_a_transaction_that_waits_is_never_aborted() -> None:
    shell = Shell()
    identity = shell.begin(T0, waits=True)
    assert shell.shard.describe(ID).transaction_timeout_ms == FOREVER_MS
    shell.advance(3 * FOREVER_MS)
    shell = shell.restart()
    shell.advance(3 * FOREVER_MS)
    assert shell.state() == "Ongoing"
    assert shell.listed(duration_filter=5 * FOREVER_MS) == [ID]
    assert shell.error(shell.end(identity, True, version=BUMPED)) == ErrorCode.NONE
    assert shell.state() == "CompleteCommit"


def test_who_waits_may_name_any_timeout() -> None:
    shell = Shell()
    for each in (0, -1, FOREVER_MS):
        assert shell.error(shell.init(timeout_ms=each, waits=True)) == ErrorCode.NONE


def test_who_does_not_wait_has_a_timeout_whatever_it_asks_for() -> None:
    shell = Shell(TransactionConfig(transaction_max_timeout_ms=FOREVER_MS))
    identity = shell.identity(shell.init(timeout_ms=FOREVER_MS))
    shell.add(identity, T0)
    shell.advance(FOREVER_MS)
    assert shell.state() == "CompleteAbort"


def test_the_id_of_one_that_waited_is_forgotten_when_nobody_uses_it() -> None:
    shell = Shell()
    shell.end(shell.begin(T0, waits=True), True)
    shell.advance(CONFIG.transactional_id_expiration_ms)
    assert shell.listed() == []


def test_the_next_instance_aborts_it_and_that_is_how_an_administrator_ends_it() -> None:
    shell = Shell()
    identity = shell.begin(T0, waits=True)
    assert shell.error(shell.init()) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert shell.state() == "CompleteAbort"
    assert shell.markers == [(ID, 1_000, 1, False, 2, {T0})]
    assert shell.identity(shell.init()) == (1_000, 2)
    assert shell.error(shell.end(identity, True)) == ErrorCode.PRODUCER_FENCED
    assert shell.shard.describe(ID).transaction_timeout_ms == TIMEOUT_MS


# -- a transaction that is kept --------------------------------------------------------------------


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("committed", [True, False])
def test_a_new_instance_keeps_it_and_ends_it(committed: bool, restarts: bool) -> None:
    shell = Shell()
    identity = shell.begin(T0, T1, version=4, waits=True)
    token = shell.init(keep=True, waits=True)
    assert shell.identity(token) == (1_000, 1)
    assert shell.kept(token) == identity == (1_000, 0)
    assert shell.state() == "Ongoing"
    shell = shell.restart() if restarts else shell
    token = shell.end((1_000, 1), committed, version=BUMPED)
    assert shell.identity(token) == (1_000, 2)
    assert shell.markers == [(ID, 1_000, 1, committed, 2, {T0, T1})]
    assert shell.state() == ("CompleteCommit" if committed else "CompleteAbort")
    assert shell.error(shell.add((1_000, 2), T0, version=4)) == ErrorCode.NONE


def test_who_wrote_it_is_fenced() -> None:
    shell = Shell()
    identity = shell.begin(T0, version=4)
    shell.init(keep=True)
    for token in (
        shell.end(identity, True, version=BUMPED),
        shell.end(identity, True, version=CLASSIC),
        shell.add(identity, T1, version=4),
        shell.add(identity, T1),
        shell.add_offsets(identity),
        shell.verify(identity, T0),
        shell.init(identity),
        shell.init(identity, keep=True),
    ):
        assert shell.error(token) == ErrorCode.PRODUCER_FENCED
    assert shell.state() == "Ongoing"


def test_who_keeps_it_can_only_end_it() -> None:
    shell = Shell()
    shell.begin(T0, version=4)
    owner = shell.identity(shell.init(keep=True))
    for token in (
        shell.add(owner, T0, version=4),
        shell.add(owner, T1),
        shell.add_offsets(owner),
        shell.verify(owner, T0),
    ):
        assert shell.error(token) == ErrorCode.INVALID_TXN_STATE
    assert shell.error(shell.end(owner, True, version=BUMPED)) == ErrorCode.NONE


def test_each_one_that_keeps_it_fences_the_one_before() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    first = shell.identity(shell.init(keep=True))
    shell = shell.restart()
    token = shell.init(keep=True)
    assert shell.identity(token) == (1_000, 2)
    assert shell.kept(token) == identity
    assert shell.error(shell.end(first, True, version=BUMPED)) == ErrorCode.PRODUCER_FENCED
    assert shell.error(shell.init(first)) == ErrorCode.PRODUCER_FENCED
    assert shell.identity(shell.end((1_000, 2), True, version=BUMPED)) == (1_000, 3)
    assert shell.markers[-1][:4] == (ID, 1_000, 1, True)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_lost_answer_to_its_end_is_made_up_for(restarts: bool) -> None:
    shell = Shell()
    shell.begin(T0)
    owner = shell.identity(shell.init(keep=True))
    shell.marks_at_once = False
    shell.end(owner, True, version=BUMPED)
    shell = shell.restart() if restarts else shell
    shell.mark(shell.markers[-1])
    assert shell.identity(shell.end(owner, True, version=BUMPED)) == (1_000, 2)
    wrong = shell.error(shell.end(owner, False, version=BUMPED))
    assert wrong == ErrorCode.INVALID_TXN_STATE
    assert shell.identity(shell.init(owner)) == (1_000, 2)


def test_a_classic_producer_ends_it_with_the_epoch_it_was_given() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    owner = shell.identity(shell.init(keep=True))
    assert shell.error(shell.end(owner, True)) == ErrorCode.NONE
    assert shell.markers == [(ID, *identity, True, 0, {T0})]
    assert shell.error(shell.end(owner, True)) == ErrorCode.NONE
    assert shell.error(shell.add(owner, T0)) == ErrorCode.NONE


def test_without_a_transaction_there_is_nothing_to_keep() -> None:
    shell = Shell()
    for epoch in range(2):
        token = shell.init(keep=True)
        assert shell.identity(token) == (1_000, epoch)
        assert shell.kept(token) == NONE
    shell.add((1_000, 1), T0)
    shell.end((1_000, 1), True)
    token = shell.init(keep=True)
    assert (shell.identity(token), shell.kept(token)) == ((1_000, 2), NONE)


def test_what_is_decided_is_not_kept() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.marks_at_once = False
    shell.end(identity, True)
    assert shell.error(shell.init(keep=True)) == ErrorCode.CONCURRENT_TRANSACTIONS
    shell.mark(shell.markers[-1])
    assert shell.kept(shell.init(keep=True)) == NONE


def test_an_instance_that_does_not_keep_it_aborts_it() -> None:
    shell = Shell()
    shell.begin(T0)
    owner = shell.identity(shell.init(keep=True))
    assert shell.error(shell.init()) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert shell.markers == [(ID, 1_000, 1, False, 2, {T0})]
    assert shell.identity(shell.init()) == (1_000, 3)
    assert shell.error(shell.end(owner, True)) == ErrorCode.PRODUCER_FENCED


def test_keeping_that_fails_changes_nothing() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.persists_at_once = False
    token = shell.init(keep=True)
    assert token not in shell.answers
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    shell.persists_at_once = True
    assert shell.error(shell.end(identity, True)) == ErrorCode.NONE


def test_its_timeout_is_what_the_new_owner_asks_for() -> None:
    shell = Shell()
    shell.begin(T0, waits=True)
    shell.advance(10 * TIMEOUT_MS)
    shell.init(keep=True)
    shell.advance(TIMEOUT_MS - 1)
    assert shell.state() == "Ongoing"
    shell.init(keep=True)
    shell.advance(1)
    assert shell.state() == "CompleteAbort"
    shell.begin(T0)
    shell.advance(TIMEOUT_MS - 1)
    shell.init(keep=True, waits=True)
    shell.advance(10 * TIMEOUT_MS)
    assert shell.state() == "Ongoing"


# -- epochs run out --------------------------------------------------------------------------------


def test_the_last_epoch_is_kept_under_another_producer_id() -> None:
    shell = seeded(epoch=LAST)
    shell.add((7, LAST), T0, version=4)
    shell.new_producer_id = lambda: None
    assert shell.error(shell.init(keep=True)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    shell.new_producer_id = lambda: 8
    token = shell.init(keep=True)
    assert (shell.identity(token), shell.kept(token)) == ((8, 0), (7, LAST))
    fenced = shell.error(shell.end((7, LAST), True, version=BUMPED))
    assert fenced == ErrorCode.PRODUCER_FENCED
    for _ in range(2):
        assert shell.identity(shell.end((8, 0), True, version=BUMPED)) == (8, 1)
    assert shell.markers == [(ID, 7, LAST + 1, True, 2, {T0})]


@pytest.mark.parametrize("restarts", [False, True])
def test_three_producer_ids_at_once(restarts: bool) -> None:
    """Of the transaction, of who ended it, and of what comes after that."""
    shell = seeded(
        epoch=10,
        state=TxnState.ONGOING,
        partitions=frozenset({T0}),
        next_producer_id=8,
        next_producer_epoch=LAST,
    )
    shell.marks_at_once = False
    token = shell.end((8, LAST), True, version=BUMPED)
    assert shell.identity(token) == (1_000, 0)
    shell = shell.restart() if restarts else shell
    shell.mark(shell.markers[-1])
    assert shell.markers[-1] == (ID, 7, 11, True, 2, {T0})
    assert shell.identity(shell.end((8, LAST), True, version=BUMPED)) == (1_000, 0)
    assert shell.identity(shell.init((8, LAST))) == (1_000, 0)
