"""DescribeTransactions and ListTransactions."""

import pytest

from barnabas.regex import InvalidPattern
from barnabas.transactions.admin import TransactionFilter
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_transactions import TopicData, TransactionState
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.list_transactions import TransactionState as Listed
from tests.transactions.shell import ID, T0, T1, TIMEOUT_MS, U0, Shell


def test_a_transaction_is_described() -> None:
    shell = Shell(now_ms=5_000)
    shell.begin(T1, U0, T0)
    assert shell.shard.describe(ID) == TransactionState(
        0, ID, "Ongoing", TIMEOUT_MS, 5_000, 1_000, 0, [TopicData("t", [0, 1]), TopicData("u", [0])]
    )


def test_what_there_is_not_is_not_described() -> None:
    shell = Shell()
    assert shell.shard.describe("other").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert shell.shard.describe("").error_code == ErrorCode.INVALID_REQUEST
    shell.persists_at_once = False
    shell.init()
    assert shell.shard.describe(ID).error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert shell.listed() == []


def several() -> Shell:
    """One of 1000 that goes on since 1 s, one of 1001 that was committed, one of 1002 unused."""
    shell = Shell()
    shell.add(shell.identity(shell.init(name="orders-1")), T0, name="orders-1")
    shell.now_ms = 3_000
    identity = shell.identity(shell.init(name="orders-2"))
    shell.add(identity, T0, name="orders-2")
    shell.end(identity, True, name="orders-2")
    shell.init(name="bills")
    return shell


def test_all_are_listed() -> None:
    shell = several()
    wanted = TransactionFilter(ListTransactionsRequest())
    assert shell.shard.list_transactions(wanted, now_ms=shell.now_ms) == [
        Listed("orders-1", 1_000, "Ongoing"),
        Listed("orders-2", 1_001, "CompleteCommit"),
        Listed("bills", 1_002, "Empty"),
    ]


def test_filters() -> None:
    shell = several()
    assert shell.listed(state_filters=["Ongoing", "Empty"]) == ["orders-1", "bills"]
    assert shell.listed(producer_id_filters=[1_001, 7]) == ["orders-2"]
    assert shell.listed(transactional_id_pattern="orders.*") == ["orders-1", "orders-2"]
    assert shell.listed(transactional_id_pattern="orders") == []
    assert shell.listed(transactional_id_pattern="") == ["orders-1", "orders-2", "bills"]
    assert shell.listed(state_filters=["Ongoing"], producer_id_filters=[1_001]) == []


def test_the_duration_counts_while_a_transaction_runs() -> None:
    shell = several()
    assert shell.listed(duration_filter=0) == ["orders-1"]
    assert shell.listed(duration_filter=1_999) == ["orders-1"]
    assert shell.listed(duration_filter=2_000) == []
    assert len(shell.listed(duration_filter=-1)) == 3


def test_states_that_there_are_not() -> None:
    shell = several()
    states = ["Ongoing", "Sleeping", "PrepareEpochFence"]
    wanted = TransactionFilter(ListTransactionsRequest(state_filters=states))
    assert wanted.unknown_states == ["Sleeping"]
    assert shell.listed(state_filters=states) == ["orders-1"]
    assert shell.listed(state_filters=["Sleeping"]) == []


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(InvalidPattern):
        TransactionFilter(ListTransactionsRequest(transactional_id_pattern="("))
