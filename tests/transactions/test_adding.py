"""AddPartitionsToTxn, with and without verifying, and AddOffsetsToTxn."""

import pytest

from barnabas.transactions.state import TxnState
from barnabas.wire.errors import ErrorCode
from tests.transactions.seed import seeded
from tests.transactions.shell import BUMPED, CLASSIC, ID, OFFSETS, T0, T1, U0, Shell


def partitions(shell: Shell) -> set[tuple[str, int]]:
    return {
        (topic.topic, index)
        for topic in shell.shard.describe(ID).topics
        for index in topic.partitions
    }


@pytest.mark.parametrize("version", [0, 3, 4, 5])
def test_partitions_begin_a_transaction_and_join_it(version: int) -> None:
    shell = Shell()
    identity = shell.identity(shell.init())
    shell.now_ms = 5_000
    assert shell.error(shell.add(identity, T1, U0, version=version)) == ErrorCode.NONE
    shell.now_ms = 6_000
    token = shell.add(identity, T0, version=version)
    assert shell.errors(token) == {T0: ErrorCode.NONE}
    assert shell.result(token).transactional_id == ID
    assert shell.state() == "Ongoing"
    assert partitions(shell) == {T0, T1, U0}
    assert shell.shard.describe(ID).transaction_start_time_ms == 5_000


def test_offsets_join_it_as_the_partition_they_are_kept_in() -> None:
    shell = Shell()
    identity = shell.identity(shell.init())
    assert shell.error(shell.add_offsets(identity)) == ErrorCode.NONE
    assert partitions(shell) == {OFFSETS}


def test_what_is_in_it_already_takes_no_record() -> None:
    shell = Shell()
    identity = shell.begin(T0, T1)
    before = len(shell.log)
    assert shell.error(shell.add(identity, T1)) == ErrorCode.NONE
    assert len(shell.log) == before
    # Once it is over, the same partition begins the next.
    shell.end(identity, True)
    assert shell.error(shell.add(identity, T1)) == ErrorCode.NONE
    assert partitions(shell) == {T1}


def test_an_answer_waits_for_the_record() -> None:
    shell = Shell()
    identity = shell.identity(shell.init())
    shell.persists_at_once = False
    token = shell.add(identity, T0)
    assert token not in shell.answers
    assert shell.error(shell.add(identity, T1)) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert shell.error(shell.add_offsets(identity)) == ErrorCode.CONCURRENT_TRANSACTIONS
    shell.fail_next()
    assert shell.error(token) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shell.state() == "Empty"


@pytest.mark.parametrize("state", [TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT])
def test_not_before_the_last_one_is_complete(state: TxnState) -> None:
    shell = seeded(state=state, partitions=frozenset({T0}), start_ms=0)
    for token in (shell.add((7, 0), T0), shell.add_offsets((7, 0)), shell.verify((7, 0), T0)):
        assert shell.error(token) == ErrorCode.CONCURRENT_TRANSACTIONS


def test_who_has_been_given_the_next_producer_id_waits_for_it() -> None:
    shell = seeded(epoch=32_766)
    shell.add((7, 32_766), T0, version=4)
    shell.marks_at_once = False
    identity = shell.identity(shell.end((7, 32_766), True, version=BUMPED))
    assert identity == (1_000, 0)
    assert shell.error(shell.add(identity, T0, version=4)) == ErrorCode.CONCURRENT_TRANSACTIONS
    shell.mark(shell.markers[-1])
    assert shell.error(shell.add(identity, T0, version=4)) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("version", "fenced"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
def test_expecteds(version: int, fenced: ErrorCode) -> None:
    shell = Shell()
    producer_id, epoch = shell.begin()

    def errors(identity: tuple[int, int], name: str = ID) -> set[ErrorCode]:
        return {
            shell.error(shell.add(identity, T1, name=name, version=version)),
            shell.error(shell.add_offsets(identity, name=name, version=version)),
        }

    assert errors((producer_id, epoch + 1)) == {fenced}
    assert errors((producer_id, epoch - 1)) == {fenced}
    assert errors((7, epoch)) == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert errors((producer_id, epoch), "other") == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert errors((producer_id, epoch), "") == {ErrorCode.INVALID_REQUEST}
    assert partitions(shell) == {T0}


# -- verifying -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "expected"),
    [(4, ErrorCode.INVALID_TXN_STATE), (5, ErrorCode.TRANSACTION_ABORTABLE)],
)
def test_verifying_says_what_is_part_of_it(version: int, expected: ErrorCode) -> None:
    shell = Shell()
    identity = shell.begin(T0)
    before = len(shell.log)
    token = shell.verify(identity, T0, T1, version=version)
    assert shell.errors(token) == {T0: ErrorCode.NONE, T1: expected}
    assert len(shell.log) == before


def test_verifying_with_a_record_in_flight_knows_what_is_persisted() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.persists_at_once = False
    shell.add(identity, T1)
    token = shell.verify(identity, T0, T1)
    assert shell.errors(token) == {T0: ErrorCode.NONE, T1: ErrorCode.TRANSACTION_ABORTABLE}


def test_verifying_when_it_is_over() -> None:
    shell = Shell()
    identity = shell.begin(T0)
    shell.end(identity, True, version=CLASSIC)
    assert shell.error(shell.verify(identity, T0)) == ErrorCode.TRANSACTION_ABORTABLE


def test_verifying_for_expecteds() -> None:
    shell = Shell()
    producer_id, epoch = shell.begin()
    fenced = shell.verify((producer_id, epoch - 1), T0)
    assert shell.error(fenced) == ErrorCode.PRODUCER_FENCED
    mapped = shell.verify((7, epoch), T0)
    assert shell.error(mapped) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    unknown = shell.add((producer_id, epoch), T0, name="other", verify_only=True)
    assert shell.error(unknown) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    nameless = shell.add((producer_id, epoch), T0, name="", verify_only=True)
    assert shell.error(nameless) == ErrorCode.INVALID_REQUEST
