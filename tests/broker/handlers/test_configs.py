"""Settings of topics and brokers, asked for and changed while the broker runs."""

import pytest

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.metadata.topic_configs import TOPIC_CONFIGS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import alter_configs
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    APPEND,
    BROKER,
    DELETE,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    create_topic,
    delete_topic,
    find_coordinator,
    produce,
    produced,
)
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

SETTINGS = {"num.partitions": "4", "log.retention.bytes": "123456"}

OF_TOPIC, DYNAMIC, DYNAMIC_DEFAULT, STATIC, DEFAULT = range(1, 6)

BROKER_1 = (BROKER, "1")
ALL_BROKERS = (BROKER, "")

Described = dict[str, DescribeConfigsResourceResult]


def describe(client: RawClient, resource: tuple[int, str], *names: str) -> Described:
    asked = DescribeConfigsResource(*resource, list(names) or None)
    (result,) = client.ask(DescribeConfigsRequest([asked], True, True)).results
    assert result.error_code == 0, result.error_message
    return {config.name: config for config in result.configs}


def value(client: RawClient, resource: tuple[int, str], name: str) -> tuple[str | None, int]:
    """A setting and where it comes from."""
    config = describe(client, resource, name)[name]
    return config.value, config.config_source


def replace(client: RawClient, resource: tuple[int, str], **configs: str | None) -> int:
    settings = [alter_configs.AlterableConfig(k.replace("_", "."), v) for k, v in configs.items()]
    request = alter_configs.AlterConfigsRequest(
        [alter_configs.AlterConfigsResource(*resource, settings)]
    )
    (answer,) = client.ask(request).responses
    error: int = answer.error_code
    return error


# -- describing ------------------------------------------------------------------------------------


def test_everything_is_described(client: RawClient, topic: str) -> None:
    create_topic(client, topic, retention_ms="1000")
    of_topic = describe(client, (TOPIC, topic))
    assert of_topic.keys() == TOPIC_CONFIGS.keys()
    assert not any(config.read_only for config in of_topic.values())
    of_broker = describe(client, BROKER_1)
    assert of_broker.keys() == BROKER_CONFIGS.keys()
    for name, config in of_broker.items():
        assert config.read_only != BROKER_CONFIGS[name].dynamic
        assert config.documentation


def test_a_value_says_where_it_comes_from(client: RawClient, topic: str) -> None:
    create_topic(client, topic, retention_ms="1000")
    described = describe(client, (TOPIC, topic), "retention.ms", "retention.bytes", "segment.ms")
    chains = {
        name: [(s.name, s.value, s.source) for s in config.synonyms]
        for name, config in described.items()
    }
    assert chains == {
        "retention.ms": [("retention.ms", "1000", OF_TOPIC)],
        "retention.bytes": [
            ("log.retention.bytes", "123456", STATIC),
            ("log.retention.bytes", "-1", DEFAULT),
        ],
        "segment.ms": [],
    }


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        ((TOPIC, "nowhere"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((BROKER, "7"), ErrorCode.INVALID_REQUEST),
        ((99, "x"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_has_no_settings(client: RawClient, resource: tuple[int, str], error: int) -> None:
    asked = DescribeConfigsResource(*resource, None)
    assert client.ask(DescribeConfigsRequest([asked])).results[0].error_code == error
    assert alter(client, resource, ("retention.ms", SET, "1"))[0] == error
    assert replace(client, resource, retention_ms="1") == error


# -- topics ----------------------------------------------------------------------------------------


def test_one_setting_changes_and_the_others_stay(client: RawClient, topic: str) -> None:
    create_topic(client, topic, retention_ms="1000", segment_bytes="2048")
    resource = (TOPIC, topic)
    assert alter(client, resource, ("retention.ms", SET, "2000")) == (0, None)
    assert value(client, resource, "retention.ms") == ("2000", OF_TOPIC)
    assert value(client, resource, "segment.bytes") == ("2048", OF_TOPIC)
    assert alter(client, resource, ("retention.ms", DELETE, None)) == (0, None)
    assert value(client, resource, "retention.ms") == ("604800000", DEFAULT)


def test_lists_grow_and_shrink(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    resource = (TOPIC, topic)
    assert alter(client, resource, ("cleanup.policy", APPEND, "compact"))[0] == 0
    assert value(client, resource, "cleanup.policy") == ("delete,compact", OF_TOPIC)
    assert alter(client, resource, ("cleanup.policy", SUBTRACT, "delete"))[0] == 0
    assert value(client, resource, "cleanup.policy") == ("compact", OF_TOPIC)
    assert alter(client, resource, ("retention.ms", APPEND, "1"))[0] == ErrorCode.INVALID_CONFIG


def test_the_old_way_replaces_all(client: RawClient, topic: str) -> None:
    create_topic(client, topic, retention_ms="1000", segment_bytes="2048")
    assert replace(client, (TOPIC, topic), segment_bytes="4096") == 0
    assert value(client, (TOPIC, topic), "segment.bytes") == ("4096", OF_TOPIC)
    assert value(client, (TOPIC, topic), "retention.ms") == ("604800000", DEFAULT)


@pytest.mark.parametrize(
    "change",
    [
        ("retention.ms", SET, "soon"),
        ("retention.ms", SET, "-2"),
        ("retention.ms", SET, None),
        ("segment.bytes", SET, str(2**31)),
        ("cleanup.policy", SET, "burn"),
        ("no.such.setting", SET, "1"),
    ],
)
def test_one_bad_change_stops_all(
    client: RawClient, topic: str, change: tuple[str, int, str | None]
) -> None:
    create_topic(client, topic)
    error, message = alter(client, (TOPIC, topic), ("flush.ms", SET, "5"), change)
    assert error == ErrorCode.INVALID_CONFIG
    assert change[0] in (message or "")
    assert value(client, (TOPIC, topic), "flush.ms")[1] == DEFAULT


def test_validating_changes_nothing(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    change = ("retention.ms", SET, "5")
    assert alter(client, (TOPIC, topic), change, validate_only=True) == (0, None)
    assert value(client, (TOPIC, topic), "retention.ms")[1] == DEFAULT
    bad = ("retention.ms", SET, "x")
    assert alter(client, (TOPIC, topic), bad, validate_only=True)[0] == ErrorCode.INVALID_CONFIG


def test_a_topics_limit_takes_effect_at_once(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    large = batch(b"x" * 500)
    produced(client, topic, large)
    assert alter(client, (TOPIC, topic), ("max.message.bytes", SET, "500"))[0] == 0
    assert produce(client, topic, large).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert alter(client, (TOPIC, topic), ("max.message.bytes", DELETE, None))[0] == 0
    produced(client, topic, large)


def test_settings_go_with_their_topic(client: RawClient, topic: str) -> None:
    create_topic(client, topic, retention_ms="1000")
    delete_topic(client, topic)
    create_topic(client, topic)
    assert value(client, (TOPIC, topic), "retention.ms")[1] == DEFAULT


# -- brokers ---------------------------------------------------------------------------------------


def test_a_brokers_defaults_reach_its_topics(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    large = batch(b"x" * 500)
    assert alter(client, ALL_BROKERS, ("message.max.bytes", SET, "500"))[0] == 0
    assert produce(client, topic, large).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert value(client, (TOPIC, topic), "max.message.bytes") == ("500", DYNAMIC_DEFAULT)
    assert alter(client, BROKER_1, ("message.max.bytes", SET, "100000"))[0] == 0
    assert value(client, BROKER_1, "message.max.bytes") == ("100000", DYNAMIC)
    produced(client, topic, large)
    for resource in (ALL_BROKERS, BROKER_1):
        assert alter(client, resource, ("message.max.bytes", DELETE, None))[0] == 0


def test_what_a_running_broker_can_not_change(client: RawClient) -> None:
    for name, config in BROKER_CONFIGS.items():
        if not config.dynamic:
            error, message = alter(client, BROKER_1, (name, SET, config.default or "x"))
            assert error == ErrorCode.INVALID_REQUEST, name
            assert name in (message or "")


@pytest.mark.parametrize("resource", [BROKER_1, ALL_BROKERS])
def test_a_setting_without_effect_is_kept_and_described(
    client: RawClient, resource: tuple[int, str]
) -> None:
    for name, text in (("num.io.threads", "16"), ("metric.reporters", "org.example.Reporter")):
        assert alter(client, resource, (name, SET, text)) == (0, None)
        config = describe(client, BROKER_1, name)[name]
        source = DYNAMIC if resource == BROKER_1 else DYNAMIC_DEFAULT
        assert (config.value, config.config_source) == (text, source)
        assert (config.documentation or "").startswith("No effect: ")
        assert alter(client, resource, (name, DELETE, None)) == (0, None)


@pytest.mark.parametrize(
    ("name", "error", "hint"),
    [
        ("broker.id", ErrorCode.INVALID_REQUEST, "node.id"),
        ("log.retention.hours", ErrorCode.INVALID_REQUEST, "log.retention.ms"),
        ("remote.fetch.max.wait.ms", ErrorCode.INVALID_CONFIG, "there is no tiered storage"),
        ("config.providers", ErrorCode.INVALID_CONFIG, "use environment variables"),
        ("num.partition", ErrorCode.INVALID_CONFIG, "did you mean 'num.partitions'?"),
    ],
)
def test_what_a_broker_does_not_take(client: RawClient, name: str, error: int, hint: str) -> None:
    code, message = alter(client, BROKER_1, (name, SET, "1"))
    assert code == error
    assert hint in (message or "")


@pytest.mark.parametrize("kill", [False, True])
def test_changes_survive_a_restart(node: BrokerProcess, topic: str, kill: bool) -> None:
    with RawClient(node.host, node.port) as client:
        create_topic(client, topic, retention_ms="1000")
        assert alter(client, (TOPIC, topic), ("flush.ms", SET, "7"))[0] == 0
        assert alter(client, BROKER_1, ("num.partitions", SET, "3"))[0] == 0
    node.restart(kill=kill)
    with RawClient(node.host, node.port) as client:
        assert value(client, (TOPIC, topic), "retention.ms") == ("1000", OF_TOPIC)
        assert value(client, (TOPIC, topic), "flush.ms") == ("7", OF_TOPIC)
        assert value(client, BROKER_1, "num.partitions") == ("3", DYNAMIC)
        new = CreatableTopic(f"{topic}-after", -1, -1)
        request = CreateTopicsRequest([new], validate_only=True)
        # Until the node has registered again, which takes longer after a kill, this fails.
        wait_until(lambda: client.ask(request).topics[0].num_partitions == 3)
        assert alter(client, BROKER_1, ("num.partitions", DELETE, None))[0] == 0
        assert value(client, BROKER_1, "num.partitions") == ("4", STATIC)


def test_internal_topics_are_flushed_unless_somebody_says_otherwise(client: RawClient) -> None:
    find_coordinator(client, "g")
    offsets = (TOPIC, "__consumer_offsets")
    assert value(client, offsets, "flush.messages") == ("1", DEFAULT)
    alter(client, offsets, ("flush.ms", SET, "1000"))
    assert value(client, offsets, "flush.messages") == (str(2**63 - 1), DEFAULT)
    alter(client, offsets, ("flush.ms", DELETE, None))
    assert value(client, offsets, "flush.messages") == ("1", DEFAULT)
    alter(client, offsets, ("flush.messages", SET, "7"))
    assert value(client, offsets, "flush.messages") == ("7", OF_TOPIC)
    alter(client, offsets, ("flush.messages", DELETE, None))
