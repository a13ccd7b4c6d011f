"""What each error means for a service: every code is in one of three lists."""

import re
from pathlib import Path

import pytest

from barnabas.client.consequences import (
    GIVES_UP,
    STOPS,
    WAITS,
    Consequence,
    consequence_of,
    consequence_of_code,
)
from barnabas.client.consumer.committer import _FENCED
from barnabas.errors import (
    _TRANSACTION_ANEW,
    BarnabasError,
    BrokerError,
    BrokerUnreachable,
    CommitUncertain,
    ConsumerBroken,
    DataLost,
    DeliveryFailed,
    DeliveryTimedOut,
    HandshakeFailed,
    HostUnknown,
    InvalidArgument,
    NobodyListens,
    ProducerFenced,
    ProtocolMismatch,
    RequestTimedOut,
    SignInFailed,
    TransactionAborted,
)
from barnabas.wire.errors import ErrorCode

CODES = [each for each in ErrorCode if each is not ErrorCode.NONE]
DENIED = BrokerError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "no")


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_each_code_is_in_one_list(code: ErrorCode) -> None:
    assert sum(code in each for each in (WAITS, GIVES_UP, STOPS)) == 1
    error = BrokerError(code, "refused")
    assert consequence_of(error) is consequence_of_code(code)
    assert consequence_of(TransactionAborted.because(error)) is Consequence.WAITS
    assert consequence_of(DeliveryFailed(3, error)) is consequence_of_code(code)


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_a_service_waits_at_least_for_what_clients_try_again(code: ErrorCode) -> None:
    """A topic that does not exist is retriable while it is created, and then a failure."""
    expected = code in (_TRANSACTION_ANEW | _FENCED) or code.retriable
    if expected and code not in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.FENCED_INSTANCE_ID,
    ):
        assert code in WAITS


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NobodyListens("down"), Consequence.WAITS),
        (HostUnknown("no such host yet"), Consequence.WAITS),
        (BrokerUnreachable("away"), Consequence.WAITS),
        (RequestTimedOut("hangs"), Consequence.WAITS),
        (DeliveryTimedOut("two minutes"), Consequence.WAITS),
        (CommitUncertain("who knows"), Consequence.WAITS),
        (ProducerFenced("another"), Consequence.WAITS),
        (TransactionAborted("rolled back"), Consequence.WAITS),
        (InvalidArgument("too large"), Consequence.GIVES_UP),
        (ValueError("of a handler"), Consequence.GIVES_UP),
        (HandshakeFailed("certificate"), Consequence.STOPS),
        (SignInFailed("password"), Consequence.STOPS),
        (ProtocolMismatch("old"), Consequence.STOPS),
        (DataLost("retention"), Consequence.STOPS),
        (ConsumerBroken("a bug"), Consequence.STOPS),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else None,
)
def test_errors_without_a_code(error: BarnabasError, expected: Consequence) -> None:
    assert consequence_of(error) is expected


def test_the_documentation_has_the_table() -> None:
    text = (Path(__file__).parents[2] / "docs" / "applications.md").read_text()
    lists = re.findall(r"^(?:[A-Z_]+,\s)+[A-Z_]+\.$", text, re.MULTILINE)
    found = [{*re.findall(r"[A-Z_]+", each)} for each in lists]
    assert found == [{code.name for code in codes} for codes in (GIVES_UP, STOPS)]


def test_a_transaction_is_judged_by_what_ended_it() -> None:
    aborted = TransactionAborted.because(DENIED)
    aborted.__cause__ = DENIED
    assert consequence_of(aborted) is Consequence.STOPS
