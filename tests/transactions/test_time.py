"""Timeouts and expiry."""

from dataclasses import replace

import pytest

from barnabas.transactions import TransactionConfig
from barnabas.transactions.state import TxnState
from barnabas.wire.errors import ErrorCode
from tests.transactions.seed import seeded
from tests.transactions.shell import BUMPED, CLASSIC, CONFIG, ID, T0, T1, TIMEOUT_MS, Shell

EXPIRATION_MS = CONFIG.transactional_id_expiration_ms
RETRY_MS = CONFIG.persist_retry_ms
LAST = 32_766


@pytest.mark.parametrize("version", [CLASSIC, BUMPED])
def test_a_transaction_that_takes_too_long_is_aborted(version: int) -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.advance(TIMEOUT_MS - 1)
    assert shell.state() == "Ongoing"
    shell.advance(1)
    assert shell.state() == "CompleteAbort"
    assert shell.markers == [(ID, 1_000, 1, False, 2, {T0})]
    refusal = shell.error(shell.end(identity, True, version=version))
    fenced = ErrorCode.PRODUCER_FENCED
    assert refusal == (fenced if version == CLASSIC else ErrorCode.INVALID_TXN_STATE)
    assert shell.error(shell.add(identity, T0)) == fenced


def test_its_producer_goes_on_where_epochs_move() -> None:
    """Its abort is the one that has happened, so it learns the epoch it can go on with."""
    shell = Shell()
    identity = shell.begin(T0, version=4)
    shell.advance(TIMEOUT_MS)
    assert shell.identity(shell.end(identity, False, version=BUMPED)) == (1_000, 1)
    assert shell.error(shell.add((1_000, 1), T0, version=4)) == ErrorCode.NONE


def test_time_runs_from_the_first_partition() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.advance(TIMEOUT_MS - 10)
    shell.add(identity, T1)
    shell.advance(10)
    assert shell.state() == "CompleteAbort"


def test_every_transaction_has_its_time() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.advance(TIMEOUT_MS - 10)
    shell.end(identity, True)
    shell.add(identity, T0)
    shell.advance(TIMEOUT_MS - 1)
    assert shell.state() == "Ongoing"
    shell.advance(1)
    assert shell.state() == "CompleteAbort"


def test_time_begins_anew_after_loading() -> None:
    shell = Shell()
    shell.begin(T0)
    shell.advance(TIMEOUT_MS - 10)
    shell = shell.restart()
    shell.advance(TIMEOUT_MS - 1)
    assert shell.state() == "Ongoing"
    shell.advance(1)
    assert shell.state() == "CompleteAbort"


def test_what_is_decided_does_not_time_out() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.marks_at_once = False
    shell.end(identity, True)
    shell.advance(10 * EXPIRATION_MS)
    assert shell.state() == "PrepareCommit"


def test_an_end_in_flight_comes_before_the_timeout() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.persists_at_once = False
    token = shell.end(identity, True)
    shell.advance(2 * TIMEOUT_MS)
    assert len(shell.in_flight) == 1
    shell.persists_at_once = True
    shell.persist_next()
    assert shell.error(token) == ErrorCode.NONE
    assert shell.state() == "CompleteCommit"


def test_a_timeout_comes_after_an_end_that_failed() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.persists_at_once = False
    shell.end(identity, True)
    shell.advance(2 * TIMEOUT_MS)
    shell.fail_next()
    shell.persists_at_once = True
    shell.advance(RETRY_MS)
    assert shell.state() == "CompleteAbort"


def test_a_timeout_that_fails_is_tried_again() -> None:
    shell = Shell()
    shell.begin(T0)
    shell.persists_at_once = False
    shell.advance(TIMEOUT_MS)
    shell.fail_next()
    assert shell.shard.next_deadline_ms() == shell.now_ms + RETRY_MS
    shell.persists_at_once = True
    shell.advance(RETRY_MS)
    assert shell.state() == "CompleteAbort"


def test_a_timeout_of_the_last_epoch_needs_another_producer_id() -> None:
    shell = seeded(epoch=LAST)
    shell.new_producer_id = lambda: None
    shell.add((7, LAST), T0, version=4)
    shell.advance(TIMEOUT_MS + 5 * RETRY_MS)
    assert shell.state() == "Ongoing"
    shell.new_producer_id = lambda: 8
    shell.advance(RETRY_MS)
    assert shell.state() == "CompleteAbort"
    assert shell.identity(shell.end((7, LAST), False, version=BUMPED)) == (8, 0)


# -- expiry ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state", [TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT]
)
def test_an_id_nobody_uses_is_forgotten(state: TxnState) -> None:
    shell = seeded(state=state, start_ms=0)
    shell.advance(EXPIRATION_MS - shell.now_ms - 1)
    assert shell.listed() == [ID]
    shell.advance(1)
    assert shell.listed() == []
    assert shell.log[-1].value is None
    assert shell.restart().listed() == []
    assert shell.shard.next_deadline_ms() is None
    assert shell.identity(shell.init((7, 0))) == (1_000, 0)


def test_a_coordinator_whose_clock_is_ahead_forgets_no_id_early() -> None:
    ahead_ms = 2 * EXPIRATION_MS
    lead_ms = 0
    shell = Shell(replace(CONFIG, clock_lead_ms=lambda: lead_ms))
    shell.init()
    shell.now_ms += ahead_ms
    lead_ms = ahead_ms
    shell = shell.restart()
    shell.advance(EXPIRATION_MS - 1)
    assert shell.listed() == [ID]
    shell.advance(1)
    assert shell.listed() == []


def test_an_id_expires_once_it_is_known_that_the_clock_is_not_ahead() -> None:
    """It is not known before the controller has heard the other nodes."""
    lead_ms = 50 * 365 * 24 * 3_600_000
    shell = Shell(replace(CONFIG, clock_lead_ms=lambda: lead_ms))
    shell.init()
    shell.advance(EXPIRATION_MS)
    assert shell.listed() == [ID]
    lead_ms = 0
    shell.advance(600_000)
    assert shell.listed() == []


def test_an_id_in_use_is_kept() -> None:
    shell = Shell()
    shell.init()
    shell.advance(EXPIRATION_MS - 10)
    shell.init()
    shell.advance(EXPIRATION_MS - 1)
    assert shell.listed() == [ID]
    shell.advance(1)
    assert shell.listed() == []


def test_nothing_happens_to_an_id_that_is_about_to_go() -> None:
    shell = Shell()
    identity = shell.identity(shell.init())
    shell.persists_at_once = False
    shell.advance(EXPIRATION_MS)
    assert shell.error(shell.init()) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert shell.error(shell.add(identity, T0)) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert shell.error(shell.end(identity, False)) == ErrorCode.CONCURRENT_TRANSACTIONS
    shell.persist_next()
    assert shell.error(shell.add(identity, T0)) == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_an_expiry_that_fails_is_tried_again() -> None:
    shell = Shell()
    shell.init()
    shell.persists_at_once = False
    shell.advance(EXPIRATION_MS)
    shell.fail_next()
    assert shell.listed() == [ID]
    shell.persists_at_once = True
    shell.advance(RETRY_MS)
    assert shell.listed() == []


def test_many_ids_expire_bit_by_bit() -> None:
    shell = Shell(TransactionConfig(transactional_id_expiration_ms=10))
    for number in range(1_200):
        shell.init(name=f"tx-{number}")
    shell.persists_at_once = False
    shell.advance(10)
    assert [len(each.records) for each in shell.in_flight] == [500, 500, 200]
    shell.persist_next()
    shell.fail_next()
    shell.persist_next()
    assert len(shell.listed()) == 500
    shell.persists_at_once = True
    shell.advance(RETRY_MS)
    assert shell.listed() == []
