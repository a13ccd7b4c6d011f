"""InitProducerId: who owns a transactional id, and who is fenced."""

import pytest

from barnabas.transactions import TransactionConfig
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.transactions.seed import seeded
from tests.transactions.shell import BUMPED, CLASSIC, ID, T0, Shell

LAST = 32_766
"""The last epoch that is ever given out."""


def test_a_new_id_gets_a_producer_id() -> None:
    shell = Shell()
    assert shell.identity(shell.init()) == (1_000, 0)
    assert shell.identity(shell.init(name="other")) == (1_001, 0)


def test_so_many_ids_are_kept_and_not_more() -> None:
    shell = Shell(TransactionConfig(max_transactional_ids=3))
    assert [shell.error(shell.init(name=name)) for name in "abc"] == [ErrorCode.NONE] * 3
    assert shell.error(shell.init(name="d")) == ErrorCode.POLICY_VIOLATION
    assert shell.error(shell.init(name="a")) == ErrorCode.NONE, "a known one goes on"
    shell.advance(8 * 24 * 3_600_000)
    assert shell.error(shell.init(name="d")) == ErrorCode.NONE, "the others have expired"


def test_every_instance_gets_the_next_epoch() -> None:
    shell = Shell()
    assert [shell.identity(shell.init())[1] for _ in range(3)] == [0, 1, 2]
    reborn = shell.restart()
    assert reborn.identity(reborn.init()) == (1_000, 3)


def test_an_answer_waits_for_the_record() -> None:
    shell = Shell()
    shell.persists_at_once = False
    token = shell.init()
    assert token not in shell.answers
    assert shell.error(shell.init()) == ErrorCode.CONCURRENT_TRANSACTIONS
    shell.persist_next()
    assert shell.identity(token) == (1_000, 0)


def test_a_first_record_that_fails_leaves_nothing() -> None:
    shell = Shell()
    shell.persists_at_once = False
    token = shell.init()
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.listed() == []
    assert shell.shard.next_deadline_ms() is None


def test_no_producer_id_at_hand() -> None:
    shell = Shell(new_producer_id=lambda: None)
    assert shell.error(shell.init()) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.listed() == []


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (InitProducerIdRequest("", 1), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest(None, 1), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("a", 1, 5, -1), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("a", 1, -1, 5), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("a", 0), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (InitProducerIdRequest("a", 900_001), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_requests_that_make_no_sense(request_: InitProducerIdRequest, error: ErrorCode) -> None:
    shell = Shell()
    token = shell.token()
    shell.carry_out(
        shell.shard.init_producer_id(request_, token=token, api_version=6, now_ms=shell.now_ms)
    )
    assert shell.answers[token] == InitProducerIdResponse(
        error_code=error, producer_id=-1, producer_epoch=-1
    )
    assert not shell.log


def test_the_longest_timeout_is_a_setting() -> None:
    shell = Shell(TransactionConfig(transaction_max_timeout_ms=10))
    assert shell.error(shell.init(timeout_ms=10)) == ErrorCode.NONE
    assert shell.error(shell.init(timeout_ms=11)) == ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_a_new_timeout_takes_the_place_of_the_old() -> None:
    shell = Shell()
    shell.init(timeout_ms=10)
    shell.init(timeout_ms=20)
    assert shell.shard.describe(ID).transaction_timeout_ms == 20


# -- going on after an error -----------------------------------------------------------------------


def test_an_instance_that_goes_on_gets_the_next_epoch() -> None:
    shell = Shell()
    identity = shell.identity(shell.init())
    assert shell.identity(shell.init(identity)) == (1_000, 1)


def test_its_retry_is_answered_again() -> None:
    shell = Shell()
    identity = shell.identity(shell.init())
    shell.init(identity)
    assert shell.identity(shell.init(identity)) == (1_000, 1)
    assert shell.identity(shell.init((1_000, 1))) == (1_000, 2)


@pytest.mark.parametrize("epoch", [0, 5, LAST])
def test_its_retry_is_answered_again_by_another_coordinator(epoch: int) -> None:
    """The answer is lost because the coordinator falls, which is when retries come."""
    shell = seeded(epoch=epoch)
    following = shell.identity(shell.init((7, epoch)))
    reborn = shell.restart()
    assert reborn.identity(reborn.init((7, epoch))) == following
    reborn = reborn.restart()
    assert reborn.identity(reborn.init((7, epoch))) == following
    reborn.init()
    assert reborn.error(reborn.init((7, epoch))) == ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("epoch", [0, 5, LAST])
def test_one_that_was_replaced_is_fenced_by_another_coordinator_too(epoch: int) -> None:
    shell = seeded(epoch=epoch)
    shell.init()
    reborn = shell.restart()
    assert reborn.error(reborn.init((7, epoch))) == ErrorCode.PRODUCER_FENCED


def test_an_epoch_that_is_used_was_heard_of() -> None:
    """So its request can not come again; a late copy of it changes nothing."""
    shell = Shell()
    first = shell.identity(shell.init())
    second = shell.identity(shell.init(first))
    shell.add(second, T0)
    shell.end(second, True, version=CLASSIC)
    for each in (shell.restart(), shell):
        assert each.error(each.init(first)) == ErrorCode.PRODUCER_FENCED
        assert each.state() == "CompleteCommit"


@pytest.mark.parametrize(
    ("version", "error"),
    [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)],
)
def test_one_that_was_replaced_is_fenced(version: int, error: ErrorCode) -> None:
    shell = Shell()
    old = shell.identity(shell.init())
    shell.init()
    assert shell.error(shell.init(old, version=version)) == error


def test_an_epoch_from_nowhere_is_fenced() -> None:
    shell = Shell()
    shell.init()
    assert shell.error(shell.init((1_000, 7))) == ErrorCode.PRODUCER_FENCED
    assert shell.error(shell.init((7, 0))) == ErrorCode.PRODUCER_FENCED


def test_one_whose_id_has_expired_begins_anew() -> None:
    shell = Shell()
    assert shell.identity(shell.init((7, 3))) == (1_000, 0)


def test_a_lost_answer_to_an_end_is_made_up_for() -> None:
    """The end moved the epoch on; who has not heard of it asks with the one before."""
    shell = Shell()
    identity = shell.begin(version=4)
    shell.end(identity, True, version=BUMPED)
    for each in (shell.restart(), shell):
        assert each.identity(each.init(identity)) == (1_000, 1)


# -- a transaction that goes on --------------------------------------------------------------------


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_transaction_that_goes_on_is_aborted_first(goes_on: bool) -> None:
    shell = Shell()
    identity = shell.begin()
    shell.marks_at_once = False
    expected = identity if goes_on else (-1, -1)
    assert shell.error(shell.init(expected)) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert shell.state() == "PrepareAbort"
    assert shell.error(shell.init()) == ErrorCode.CONCURRENT_TRANSACTIONS
    (markers,) = shell.markers
    assert markers == (ID, 1_000, 1, False, 2, {T0})
    shell.mark(markers)
    assert shell.identity(shell.init()) == (1_000, 2)
    assert shell.error(shell.end(identity, True)) == ErrorCode.PRODUCER_FENCED


def test_a_fenced_instance_can_not_abort_its_successor() -> None:
    shell = Shell()
    old = shell.identity(shell.init())
    shell.begin()
    assert shell.error(shell.init(old)) == ErrorCode.PRODUCER_FENCED
    assert shell.state() == "Ongoing"


def test_an_abort_that_fails_is_told() -> None:
    shell = Shell()
    shell.begin()
    shell.persists_at_once = False
    token = shell.init()
    assert token not in shell.answers
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.state() == "Ongoing"


# -- epochs run out --------------------------------------------------------------------------------


def test_after_the_last_epoch_comes_another_producer_id() -> None:
    shell = seeded(epoch=LAST - 1)
    assert shell.identity(shell.init()) == (7, LAST)
    assert shell.identity(shell.init()) == (1_000, 0)
    assert shell.identity(shell.init()) == (1_000, 1)


def test_without_a_producer_id_at_hand_it_has_to_wait() -> None:
    shell = seeded(epoch=LAST)
    shell.new_producer_id = lambda: None
    assert shell.error(shell.init()) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    shell.new_producer_id = lambda: 9
    assert shell.identity(shell.init()) == (9, 0)


def test_a_retry_over_the_last_epoch_is_answered_again() -> None:
    shell = seeded(epoch=LAST)
    for _ in range(3):
        assert shell.identity(shell.init((7, LAST))) == (1_000, 0)
    assert shell.identity(shell.init((1_000, 0))) == (1_000, 1)
    assert shell.error(shell.init((7, LAST))) == ErrorCode.PRODUCER_FENCED


def test_an_older_epoch_is_fenced_when_the_last_one_is_reached() -> None:
    shell = seeded(epoch=LAST)
    assert shell.error(shell.init((7, LAST - 1))) == ErrorCode.PRODUCER_FENCED


def test_a_transaction_of_the_last_epoch_is_fenced_into_another_producer_id() -> None:
    shell = seeded(epoch=LAST)
    assert shell.error(shell.add((7, LAST), T0)) == ErrorCode.NONE
    assert shell.error(shell.init()) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert shell.markers[-1][:4] == (ID, 7, LAST + 1, False)
    assert shell.identity(shell.init()) == (1_000, 1)
