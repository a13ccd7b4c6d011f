"""EndTxn in both generations: what is decided, what is a retry, what is refused."""

import pytest

from barnabas.transactions.image import CLASSIC as CLASSIC_GENERATION
from barnabas.transactions.image import EPOCH_BUMPED
from barnabas.transactions.state import TxnState
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.end_txn import EndTxnResponse
from tests.transactions.seed import seeded
from tests.transactions.shell import BUMPED, CLASSIC, ID, T0, T1, Shell

LAST = 32_766

ENDS = "ends"
OK = ErrorCode.NONE
FENCED = ErrorCode.PRODUCER_FENCED
WRONG = ErrorCode.INVALID_TXN_STATE
EMPTY, COMMITTED, ABORTED = TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT


@pytest.mark.parametrize("committed", [True, False])
def test_a_classic_end(committed: bool) -> None:
    shell = Shell()
    identity = shell.begin(T0, T1)
    token = shell.end(identity, committed, version=CLASSIC)
    assert shell.answers[token] == EndTxnResponse()
    assert shell.markers == [(ID, *identity, committed, 0, {T0, T1})]
    assert shell.state() == ("CompleteCommit" if committed else "CompleteAbort")
    # The same epoch goes on.
    assert shell.error(shell.add(identity, T0)) == OK


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_that_moves_the_epoch_on(committed: bool) -> None:
    shell = Shell()
    identity = producer_id, epoch = shell.begin(T0, T1, version=4)
    token = shell.end(identity, committed, version=BUMPED)
    assert shell.identity(token) == (producer_id, epoch + 1)
    assert shell.markers == [(ID, producer_id, epoch + 1, committed, 2, {T0, T1})]
    assert shell.state() == ("CompleteCommit" if committed else "CompleteAbort")
    # A late write of that transaction can't begin the next one.
    assert shell.error(shell.add(identity, T0, version=4)) == FENCED
    assert shell.error(shell.add((producer_id, epoch + 1), T0, version=4)) == OK


@pytest.mark.parametrize("version", [CLASSIC, BUMPED])
def test_the_client_is_answered_when_the_end_is_decided(version: int) -> None:
    shell = Shell()
    identity = shell.begin()
    shell.persists_at_once = shell.marks_at_once = False
    token = shell.end(identity, True, version=version)
    assert token not in shell.answers
    assert not shell.markers
    again = shell.end(identity, True, version=version)
    assert shell.error(again) == ErrorCode.CONCURRENT_TRANSACTIONS
    shell.persist_next()
    assert shell.error(token) == OK
    assert len(shell.markers) == 1
    assert shell.state() == "PrepareCommit"


@pytest.mark.parametrize("version", [CLASSIC, BUMPED])
def test_an_end_that_is_not_persisted_is_none(version: int) -> None:
    shell = Shell()
    identity = shell.begin()
    shell.persists_at_once = False
    token = shell.end(identity, True, version=version)
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not shell.markers
    shell.persists_at_once = True
    assert shell.error(shell.end(identity, False, version=version)) == OK
    assert [markers.committed for markers in shell.markers] == [False]


@pytest.mark.parametrize("version", [CLASSIC, BUMPED])
@pytest.mark.parametrize("committed", [True, False])
def test_not_while_the_last_end_is_under_way(version: int, committed: bool) -> None:
    state = TxnState.PREPARE_COMMIT
    shell = seeded(epoch=1, state=state, partitions=frozenset({T0}), start_ms=0)
    token = shell.end((7, 1), committed, version=version)
    assert shell.error(token) == ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("state", "committed", "outcome"),
    [
        (EMPTY, True, WRONG),
        (EMPTY, False, WRONG),
        (COMMITTED, True, OK),
        (COMMITTED, False, WRONG),
        (ABORTED, True, WRONG),
        (ABORTED, False, OK),
    ],
)
def test_a_classic_end_of_nothing(state: TxnState, committed: bool, outcome: ErrorCode) -> None:
    shell = seeded(epoch=3, state=state, start_ms=0)
    assert shell.error(shell.end((7, 3), committed, version=CLASSIC)) == outcome
    assert shell.error(shell.end((7, 2), committed, version=CLASSIC)) == FENCED
    assert len(shell.log) == 1


@pytest.mark.parametrize(
    ("state", "committed", "before", "current"),
    [
        (EMPTY, False, FENCED, ENDS),
        (EMPTY, True, FENCED, WRONG),
        (ABORTED, False, OK, ENDS),
        (ABORTED, True, WRONG, WRONG),
        (COMMITTED, False, WRONG, ENDS),
        (COMMITTED, True, OK, WRONG),
    ],
)
def test_an_end_of_nothing_that_moves_the_epoch_on(
    state: TxnState, committed: bool, before: ErrorCode, current: ErrorCode | str
) -> None:
    shell = seeded(epoch=3, state=state, start_ms=0, client_transaction_version=EPOCH_BUMPED)
    retry = shell.end((7, 2), committed, version=BUMPED)
    assert shell.error(retry) == before
    if before is OK:
        assert shell.identity(retry) == (7, 3)
    assert len(shell.log) == 1
    shell.now_ms = 9_000
    token = shell.end((7, 3), committed, version=BUMPED)
    if current == ENDS:
        assert shell.identity(token) == (7, 4)
        assert [image and image.state for image in shell.images[1:]] == [
            TxnState.PREPARE_ABORT,
            TxnState.COMPLETE_ABORT,
        ]
        assert shell.shard.describe(ID).transaction_start_time_ms == 9_000
        assert not shell.markers
    else:
        assert shell.error(token) == current
        assert len(shell.log) == 1


def test_a_fenced_instance_gets_no_valid_epoch_by_a_retry() -> None:
    """Its successor, of the classic generation, has ended a transaction just as it would."""
    generation = CLASSIC_GENERATION
    shell = seeded(epoch=3, state=COMMITTED, start_ms=0, client_transaction_version=generation)
    assert shell.error(shell.end((7, 2), True, version=BUMPED)) == FENCED


@pytest.mark.parametrize(
    ("version", "fenced"),
    [
        (1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, ErrorCode.PRODUCER_FENCED),
        (4, ErrorCode.PRODUCER_FENCED),
        (5, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_strangers(version: int, fenced: ErrorCode) -> None:
    shell = Shell()
    producer_id, epoch = shell.begin()

    def error(identity: tuple[int, int], name: str = ID) -> ErrorCode:
        token = shell.end(identity, True, name=name, version=version)
        assert shell.answers[token] == EndTxnResponse(error_code=shell.error(token))
        return shell.error(token)

    assert error((producer_id, epoch + 1)) == fenced
    assert error((producer_id, epoch - 1)) == fenced
    assert error((7, epoch)) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert error((producer_id, epoch), "other") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert error((producer_id, epoch), "") == ErrorCode.INVALID_REQUEST
    assert shell.state() == "Ongoing"


# -- epochs run out --------------------------------------------------------------------------------


@pytest.mark.parametrize("restarts", [False, True])
def test_after_the_last_epoch_comes_another_producer_id(restarts: bool) -> None:
    shell = seeded(epoch=LAST)
    shell.add((7, LAST), T0, version=4)
    token = shell.end((7, LAST), True, version=BUMPED)
    assert shell.identity(token) == (1_000, 0)
    assert shell.markers == [(ID, 7, LAST + 1, True, 2, {T0})]
    if restarts:
        shell = shell.restart()
    # Retries come with what was.
    assert shell.identity(shell.end((7, LAST), True, version=BUMPED)) == (1_000, 0)
    assert shell.error(shell.end((7, LAST), False, version=BUMPED)) == WRONG
    assert shell.identity(shell.init((7, LAST))) == (1_000, 0)
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert shell.error(shell.add((7, LAST), T0, version=4)) == mapping
    assert shell.error(shell.add((1_000, 0), T0, version=4)) == OK
    assert shell.error(shell.end((7, LAST), True, version=BUMPED)) == mapping


def test_without_a_producer_id_at_hand_it_has_to_wait() -> None:
    shell = seeded(epoch=LAST)
    shell.add((7, LAST), T0, version=4)
    shell.new_producer_id = lambda: None
    token = shell.end((7, LAST), True, version=BUMPED)
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.state() == "Ongoing"


def test_a_classic_end_needs_no_epoch() -> None:
    shell = seeded(epoch=LAST)
    shell.add((7, LAST), T0)
    shell.new_producer_id = lambda: None
    assert shell.error(shell.end((7, LAST), True)) == OK
    assert shell.markers == [(ID, 7, LAST, True, 0, {T0})]


# -- both generations, one after the other ---------------------------------------------------------


def test_a_producer_may_change_its_generation() -> None:
    shell = Shell()
    identity = shell.begin()
    assert shell.error(shell.end(identity, True, version=CLASSIC)) == OK
    assert shell.error(shell.add(identity, T0, version=4)) == OK
    identity = shell.identity(shell.end(identity, True, version=BUMPED))
    assert identity == (1_000, 1)
    assert shell.error(shell.add(identity, T0, version=3)) == OK
    assert shell.error(shell.end(identity, False, version=CLASSIC)) == OK
    assert [each.producer_epoch for each in shell.markers] == [0, 1, 1]
