"""Decisions about settings."""

import pytest

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.controller.configs import (
    OPERATION_APPEND,
    OPERATION_DELETE,
    OPERATION_SET,
    OPERATION_SUBTRACT,
    BrokerSettings,
    ConfigChange,
    TopicDefaults,
    alter_configs,
    check_topic_config,
    described_broker_configs,
    described_configs,
)
from barnabas.controller.decision import Refusal
from barnabas.controller.producer_ids import BLOCK_SIZE, allocate_producer_ids
from barnabas.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata_records import ConfigRecord, TopicRecord

STATIC = {"log.retention.ms": "300", "log.cleanup.policy": "compact"}
BROKER = BrokerSettings(1, BROKER_CONFIGS, STATIC)
T = (TOPIC_RESOURCE, "t")
ONE, ALL = (BROKER_RESOURCE, "1"), (BROKER_RESOURCE, "")

Change = tuple[str, int, str | None]


@pytest.fixture
def image() -> MetadataImage:
    image = MetadataImage()
    image.replay(TopicRecord("t", bytes(16)))
    return image


def change(
    image: MetadataImage, resource: tuple[int, str], *changes: Change, replace: bool = False
) -> list[tuple[str, str | None]]:
    """What is agreed on: the settings that change."""
    wanted = [ConfigChange(*one) for one in changes]
    decision = alter_configs(image, BROKER, *resource, wanted, replace=replace)
    for record in decision.records:
        assert isinstance(record, ConfigRecord)
        assert (record.resource_type, record.resource_name) == resource
        image.replay(record)
    return [(record.name, record.value) for record in decision.records]


def test_only_changes_are_recorded(image: MetadataImage) -> None:
    setting = ("retention.ms", OPERATION_SET, "5")
    assert change(image, T, setting) == [("retention.ms", "5")]
    assert change(image, T, setting) == []
    assert change(image, T, ("retention.ms", OPERATION_DELETE, None)) == [("retention.ms", None)]
    assert change(image, T, ("retention.ms", OPERATION_DELETE, None)) == []
    assert image.configs == {}


def test_throttles_of_replicas(image: MetadataImage) -> None:
    """Kafka's own tool sets them for a move and takes them back after it."""
    for resource, name, value in (
        (ONE, "leader.replication.throttled.rate", "1"),
        (T, "follower.replication.throttled.replicas", "0:1"),
        (T, "follower.replication.throttled.replicas", "*"),
    ):
        assert change(image, resource, (name, OPERATION_DELETE, None)) == []
        assert change(image, resource, (name, OPERATION_SET, value)) == [(name, value)]
        assert change(image, resource, (name, OPERATION_DELETE, None)) == [(name, None)]
    with pytest.raises(Refusal, match="can't have '1'"):
        change(image, T, (name, OPERATION_SET, "0:1,1"))
    name = "leader.replication.throttled.replicas"
    assert change(image, T, (name, OPERATION_APPEND, "0:1,1:1")) == [(name, "0:1,1:1")]
    assert change(image, T, (name, OPERATION_SUBTRACT, "0:1")) == [(name, "1:1")]


def test_taking_back_what_nobody_knows_is_no_error(image: MetadataImage) -> None:
    """Mirrors do so with every setting that the other cluster's topic leaves at its default."""
    unknown = ("confluent.tier.enable", OPERATION_DELETE, None)
    known = ("retention.ms", OPERATION_SET, "5")
    assert change(image, T, unknown, known) == [("retention.ms", "5")]
    with pytest.raises(Refusal, match=r"confluent\.tier\.enable is not supported"):
        change(image, ONE, unknown)


def test_there_is_no_tiered_storage(image: MetadataImage) -> None:
    assert change(image, T, ("remote.storage.enable", OPERATION_SET, "false"))
    with pytest.raises(Refusal, match=r"remote\.storage\.enable must be false"):
        change(image, T, ("remote.storage.enable", OPERATION_SET, "true"))


def test_replacing_takes_back_what_is_not_named(image: MetadataImage) -> None:
    change(image, T, ("retention.ms", OPERATION_SET, "5"), ("flush.ms", OPERATION_SET, "6"))
    again = ("flush.ms", OPERATION_SET, "6")
    assert change(image, T, again, replace=True) == [("retention.ms", None)]
    assert image.topic_configs("t") == {"flush.ms": "6"}


def test_lists(image: MetadataImage) -> None:
    """What is appended to is the value in force, wherever that comes from."""
    appended = change(image, T, ("cleanup.policy", OPERATION_APPEND, "delete"))
    assert appended == [("cleanup.policy", "compact,delete")]
    assert change(image, T, ("cleanup.policy", OPERATION_APPEND, "delete")) == []
    left = change(image, T, ("cleanup.policy", OPERATION_SUBTRACT, "compact"))
    assert left == [("cleanup.policy", "delete")]
    assert change(image, T, ("cleanup.policy", OPERATION_SUBTRACT, "delete")) == [
        ("cleanup.policy", "")
    ]


@pytest.mark.parametrize(
    ("resource", "one", "error"),
    [
        (T, ("retention.ms", OPERATION_SET, None), ErrorCode.INVALID_CONFIG),
        (T, ("retention.ms", OPERATION_SET, "x"), ErrorCode.INVALID_CONFIG),
        (T, ("log.retention.ms", OPERATION_SET, "1"), ErrorCode.INVALID_CONFIG),
        (T, ("retention.ms", OPERATION_APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (T, ("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
        (T, ("cleanup.policy", OPERATION_SET, "shred"), ErrorCode.INVALID_CONFIG),
        ((TOPIC_RESOURCE, "u"), ("retention.ms", 0, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ONE, ("node.id", OPERATION_SET, "2"), ErrorCode.INVALID_REQUEST),
        (ONE, ("node.id", OPERATION_DELETE, None), ErrorCode.INVALID_REQUEST),
        (ONE, ("retention.ms", OPERATION_SET, "1"), ErrorCode.INVALID_CONFIG),
        ((BROKER_RESOURCE, "2"), ("num.partitions", 0, "1"), ErrorCode.INVALID_REQUEST),
        ((8, "x"), ("num.partitions", OPERATION_SET, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_refusals(
    image: MetadataImage, resource: tuple[int, str], one: Change, error: ErrorCode
) -> None:
    with pytest.raises(Refusal) as refused:
        change(image, resource, one)
    assert refused.value.error_code == error
    assert refused.value.message


def test_a_mistyped_name_gets_a_suggestion(image: MetadataImage) -> None:
    with pytest.raises(
        Refusal, match=r"^Unknown topic config name: retenton\.ms; did you mean 'retention\.ms'\?$"
    ):
        check_topic_config("retenton.ms", "1")
    mistyped = [(T, "retenton.ms", "retention.ms"), (ONE, "num.partition", "num.partitions")]
    for resource, name, meant in mistyped:
        with pytest.raises(Refusal) as refused:
            change(image, resource, (name, OPERATION_SET, "1"))
        assert f"did you mean {meant!r}?" in refused.value.message
    with pytest.raises(Refusal) as refused:
        check_topic_config("zzz", "1")
    assert "did you mean" not in refused.value.message


def test_a_setting_that_stands_twice(image: MetadataImage) -> None:
    twice = ("retention.ms", OPERATION_SET, "1")
    with pytest.raises(Refusal) as refused:
        change(image, T, twice, twice)
    assert refused.value.error_code == ErrorCode.INVALID_REQUEST


def test_where_a_topics_value_comes_from(image: MetadataImage) -> None:
    def chain(name: str) -> list[tuple[str | None, int]]:
        described = described_configs("t", image.topic_configs("t"), TopicDefaults(image, BROKER))
        (config,) = [config for config in described if config.name == name]
        chain = [(synonym.value, synonym.source) for synonym in config.synonyms]
        assert (config.value, config.source) == chain[0]
        return chain

    assert chain("retention.ms") == [("300", 4)]
    change(image, ALL, ("log.retention.ms", OPERATION_SET, "200"))
    change(image, ONE, ("log.retention.ms", OPERATION_SET, "100"))
    change(image, T, ("retention.ms", OPERATION_SET, "50"))
    assert chain("retention.ms") == [
        ("50", 1),
        ("100", 2),
        ("200", 3),
        ("300", 4),
    ]
    assert chain("segment.bytes") == [("1073741824", 5)]


def test_defaults_that_kafka_has_no_synonym_for(image: MetadataImage) -> None:
    """In Kafka `log.retention.ms` is unset, and `log.retention.hours` says how long."""
    defaults = TopicDefaults(image, BrokerSettings(1, BROKER_CONFIGS, {}))
    described = {config.name: config for config in described_configs("t", {}, defaults)}
    for name in ("retention.ms", "segment.ms", "flush.ms"):
        assert (described[name].source, described[name].synonyms) == (5, [])
    assert described["retention.ms"].value == "604800000"


def test_what_of_a_broker_can_be_changed(image: MetadataImage) -> None:
    read_only = {c.name: c.read_only for c in described_broker_configs(image, BROKER)}
    assert read_only["node.id"]
    assert not read_only["num.partitions"]
    assert read_only.keys() == BROKER_CONFIGS.keys()


def test_producer_ids_come_in_blocks(image: MetadataImage) -> None:
    seen: list[int] = []
    for _ in range(3):
        decision = allocate_producer_ids(image, 1)
        assert image.next_producer_id == len(seen)
        for record in decision.records:
            image.replay(record)
        seen += decision.answer
    assert seen == list(range(3 * BLOCK_SIZE))


def test_settings_of_a_listener(image: MetadataImage) -> None:
    name = "listener.name.clients.ssl.keystore.location"
    assert change(image, ONE, (name, OPERATION_SET, "new.pem")) == [(name, "new.pem")]
    described = {config.name: config for config in described_broker_configs(image, BROKER)}
    assert described[name].value == "new.pem"
    assert change(image, ONE, (name, OPERATION_DELETE, None)) == [(name, None)]
    with pytest.raises(Refusal, match="name a broker"):
        change(image, ALL, (name, OPERATION_SET, "new.pem"))
    with pytest.raises(Refusal, match="unknown setting"):
        change(image, ONE, ("listener.name.clients.retention.ms", OPERATION_SET, "1"))
    with pytest.raises(Refusal, match="can't be changed while the broker runs"):
        change(image, ONE, ("listener.name.clients.ssl.client.auth", OPERATION_SET, "none"))


def test_what_is_appended_does_not_grow_beyond_what_an_answer_can_carry(
    image: MetadataImage,
) -> None:
    name = "follower.replication.throttled.replicas"
    half = ",".join(f"{number}:1" for number in range(10_000, 14_000))
    change(image, T, (name, OPERATION_APPEND, half))
    more = half.replace(":1", ":2")
    with pytest.raises(Refusal, match="at most 32767 are allowed") as refused:
        change(image, T, (name, OPERATION_APPEND, more))
    assert refused.value.error_code is ErrorCode.INVALID_CONFIG
