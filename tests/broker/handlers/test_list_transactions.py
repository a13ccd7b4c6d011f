"""ListTransactions on a node without a partition of `__transaction_state`."""

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from tests.broker.raw_client import RawClient


def test_a_state_that_there_is_not_is_named(client: RawClient) -> None:
    answer = client.ask(ListTransactionsRequest(state_filters=["Ongoing", "Sleeping"]))
    assert answer.error_code == ErrorCode.NONE
    assert answer.unknown_state_filters == ["Sleeping"]
    assert answer.transaction_states == []


def test_a_pattern_that_is_none_is_refused(client: RawClient) -> None:
    answer = client.ask(ListTransactionsRequest(transactional_id_pattern="("))
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
