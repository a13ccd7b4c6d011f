"""Errors say what is wrong with what, and how to mend it."""

import inspect
import pickle

import pytest

from barnabas import errors
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.errors import (
    AdvertisedAddressUnreachable,
    BarnabasError,
    BrokerError,
    BrokerUnreachable,
    DeliveryFailed,
    HostUnknown,
    InvalidArgument,
    NobodyListens,
    NotAuthorized,
    RecordTooLarge,
    RequestTimedOut,
    SignInFailed,
    TopicExists,
    UnknownGroup,
    UnknownTopic,
)
from barnabas.wire.errors import ErrorCode


def test_no_error_raises_nothing() -> None:
    check(0, "topic t")


def test_the_message_names_the_thing_the_code_and_the_fix() -> None:
    with pytest.raises(BrokerError) as caught:
        check(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic t", "This server does not host it.")
    assert str(caught.value) == (
        "topic t: it does not exist (UNKNOWN_TOPIC_OR_PARTITION); see `barnabas topics list`, or "
        "create it with `barnabas topics create`"
    )
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_brokers_own_words_are_kept_where_they_say_more() -> None:
    error = broker_error(ErrorCode.INVALID_CONFIG, "topic t", "no such thing as x.y.")
    assert str(error) == "topic t: no such thing as x.y (INVALID_CONFIG)"


def test_a_setting_that_the_broker_names_is_not_contradicted_by_a_guess() -> None:
    code = ErrorCode.MESSAGE_TOO_LARGE
    assert "max.message.bytes" in str(broker_error(code, "partition t-0"))
    plain = str(broker_error(code, "partition t-0", "the batch takes 9 bytes, at most 5 are"))
    assert "takes 9 bytes" in plain
    assert "max.message.bytes" in plain
    bomb = broker_error(code, "partition t-0", "it unpacks to more (max.decompressed.batch.bytes)")
    assert str(bomb) == (
        "partition t-0: it unpacks to more (max.decompressed.batch.bytes) (MESSAGE_TOO_LARGE)"
    )


def test_a_code_from_the_future_is_shown_as_a_number() -> None:
    error = broker_error(4711, "topic t")
    assert "4711" in str(error)
    assert error.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert not error.retriable


def test_every_code_makes_a_message_and_keeps_its_nature() -> None:
    for code in ErrorCode:
        error = broker_error(code, "it")
        assert code.name in str(error)
        assert error.retriable is code.retriable, code


def test_unreachable_brokers_are_named_with_the_fix() -> None:
    refused = ("h:1", NobodyListens("connection refused"))
    bootstrap = str(BrokerUnreachable.at_bootstrap([refused]))
    assert "h:1 (connection refused)" in bootstrap
    assert "is `barnabas server` running" in bootstrap
    same = SignInFailed("wrong password")
    shown = str(BrokerUnreachable.at_bootstrap([("a:1", same), ("b:2", same)]))
    assert "at a:1, b:2 (wrong password):" in shown
    advertised = str(BrokerUnreachable.at_advertised(3, "x:9", "no route"))
    assert "broker 3 says it is at x:9" in advertised
    assert "is node 3 down? If not, start it with --advertise" in advertised
    unknown = str(BrokerUnreachable.at_advertised(3, "x:9", "no such host", resolved=False))
    assert "(no such host): start it with --advertise" in unknown
    dead = str(BrokerUnreachable.of_node(3, "x:9", "connection refused"))
    assert "is node 3 down? See `barnabas cluster status`" in dead
    assert "--advertise" not in dead
    assert "bootstrap_servers" in bootstrap
    later = str(BrokerUnreachable.any_more([refused]))
    assert "can no longer be reached, at h:1 (connection refused)" in later
    assert "barnabas server" not in later


def test_what_is_wrong_with_all_addresses_can_be_told() -> None:
    refused, unknown = ("h:1", NobodyListens("no")), ("x:1", HostUnknown("no such host"))
    assert type(BrokerUnreachable.at_bootstrap([refused, refused])) is NobodyListens
    assert type(BrokerUnreachable.any_more([unknown])) is HostUnknown
    assert type(BrokerUnreachable.at_bootstrap([refused, unknown])) is BrokerUnreachable


def test_a_wrong_advertised_address_can_be_told_from_a_broker_that_is_down() -> None:
    assert type(BrokerUnreachable.at_advertised(3, "x:9", "?")) is AdvertisedAddressUnreachable
    assert type(BrokerUnreachable.of_node(3, "x:9", "?")) is BrokerUnreachable


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UnknownTopic),
        (ErrorCode.TOPIC_ALREADY_EXISTS, TopicExists),
        (ErrorCode.GROUP_ID_NOT_FOUND, UnknownGroup),
        (ErrorCode.MESSAGE_TOO_LARGE, RecordTooLarge),
        (ErrorCode.MESSAGE_TOO_LARGE, InvalidArgument),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, NotAuthorized),
    ],
)
def test_what_users_catch_has_a_class(code: ErrorCode, kind: type[BarnabasError]) -> None:
    error = broker_error(code, "it")
    assert isinstance(error, kind)
    assert isinstance(error, BrokerError)
    assert error.code is code


def test_undelivered_records_are_counted_and_explained() -> None:
    reason = RequestTimedOut("too late")
    failed = DeliveryFailed(3, reason)
    assert str(failed) == "3 records were not delivered, the first because of this: too late"
    assert failed.__cause__ is reason
    assert str(DeliveryFailed(1, reason)).startswith("1 record was")


def test_the_public_module_offers_every_exception_with_its_documentation() -> None:
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, BarnabasError)
    }
    assert defined == set(errors.__all__) - {"ErrorCode"}
    for name in defined:
        assert getattr(errors, name).__doc__, name


@pytest.mark.parametrize(
    "error",
    [
        broker_error(ErrorCode.MESSAGE_TOO_LARGE, "topic t"),
        DeliveryFailed(3, RequestTimedOut("too late")),
        BrokerUnreachable.at_advertised(3, "x:9", "no route"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_out_of_other_processes_as_they_were(error: BarnabasError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.retriable is error.retriable
    assert vars(copy).keys() == vars(error).keys()


def test_a_broker_that_says_nothing_is_spoken_for() -> None:
    said = str(broker_error(ErrorCode.MESSAGE_TOO_LARGE, "partition t-0"))
    assert said.startswith("partition t-0: a record or batch is larger than the topic allows (")
    assert "refused by the broker" in str(broker_error(ErrorCode.UNKNOWN_SERVER_ERROR, "it"))


_DENIED_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_DENIED_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
_DENIED_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_DENIED_ID = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("code", "what", "needs", "granted"),
    [
        (_DENIED_TOPIC, "topic a-1", "write", "write --topic a-1"),
        (_DENIED_TOPIC, "partition a-1-0 at offset 7", "read", "read --topic a-1"),
        (_DENIED_TOPIC, "transactional id t, partition a-0", "write", "write --topic a"),
        (_DENIED_TOPIC, "topic a", "describe", "read --topic a"),
        (_DENIED_GROUP, "group g", "read", "read --group g"),
        (_DENIED_GROUP, "group g, partition a-0", "read", "read --group g"),
        (_DENIED_ID, "transactional id b.h", None, "write --transactional-id b.h"),
        (_DENIED_ID, "transactional id b.h", "describe", "write --transactional-id b.h"),
        (_DENIED_CLUSTER, "the quorum", "describe", "describe --cluster"),
        (_DENIED_CLUSTER, "broker 3", "alter_configs", "alter_configs --cluster"),
    ],
)
def test_a_denial_names_the_operation(
    code: ErrorCode, what: str, needs: str | None, granted: str
) -> None:
    text = str(broker_error(code, what, needs=needs))
    assert text.startswith(f"{what}: {needs or 'write'} is not allowed on this ")
    assert f" ({code.name}); " in text
    assert text.endswith(f"barnabas acls add USER {granted}")


def test_a_denial_without_a_known_operation_says_what_it_is_about() -> None:
    text = str(broker_error(_DENIED_GROUP, "group g"))
    assert text == "group g: not allowed on this group (GROUP_AUTHORIZATION_FAILED)"
