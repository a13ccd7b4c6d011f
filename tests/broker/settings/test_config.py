"""A broker's settings: three sources, one value."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

import barnabas
from barnabas.broker.control.controller_factory import new_controller
from barnabas.broker.settings import component_settings
from barnabas.broker.settings.component_settings import read_settings
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.broker.settings.topic_settings import (
    TopicSettings,
    TopicValues,
    read_topic_settings,
)
from barnabas.broker.settings.without_effect import BROKER_CONFIGS_WITHOUT_EFFECT
from barnabas.controller.cluster_settings import ClusterSettings
from barnabas.controller.configs import BrokerSettings
from barnabas.controller.controller_config import ControllerConfig
from barnabas.log import LogConfig
from barnabas.metadata.config_values import ConfigValue
from barnabas.metadata.image import INTERNAL_TOPICS, MetadataImage
from barnabas.metadata.refused_settings import (
    OLDER_SETTINGS,
    ONLY_AT_THE_START,
    REFUSED_SETTINGS,
    refused_group,
)
from barnabas.metadata.topic_configs import TOPIC_CONFIGS


def test_defaults() -> None:
    config = BrokerConfig({})
    assert config.topic_creation.num_partitions == 1
    assert config.topic_creation.is_automatic
    assert config.node.listeners == "localhost:9092"
    assert config.node.advertised_listeners is None


def test_what_was_changed_while_running_stands_over_the_file() -> None:
    config = BrokerConfig({"num.partitions": "2"})
    config.set_dynamic({"num.partitions": "3"})
    assert config.topic_creation.num_partitions == 3
    config.set_dynamic({})
    assert config.topic_creation.num_partitions == 2


def test_a_topics_settings_stand_over_the_brokers() -> None:
    config = BrokerConfig({"log.retention.ms": "5", "log.segment.bytes": "2048"})
    log = config.topic({"retention.ms": "6", "cleanup.policy": "compact, delete"}).log
    assert (log.retention_ms, log.segment_bytes) == (6, 2048)
    assert log.cleanup_policy == {"compact", "delete"}


def test_a_log_gets_its_defaults_from_the_tables() -> None:
    """The log's own defaults and the tables' are the same, written as each writes 'never'."""
    made, plain = BrokerConfig({}).topic({}).log, LogConfig()
    assert made.flushes_by_count is made.flushes_by_age is False
    assert plain.flushes_by_count is plain.flushes_by_age is False
    for name in LogConfig.__dataclass_fields__:
        if not name.startswith("flush_"):
            assert getattr(made, name) == getattr(plain, name), name


class Reads(dict[str, ConfigValue]):
    """Values that remember which of them were read."""

    def __init__(self, values: Mapping[str, ConfigValue]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> ConfigValue:
        self.read.add(name)
        return super().__getitem__(name)


def broker_values() -> Reads:
    return Reads({name: config.parse(config.default) for name, config in BROKER_CONFIGS.items()})


def test_every_setting_of_a_topic_has_a_value() -> None:
    values = broker_values()
    for name, config in TOPIC_CONFIGS.items():
        if config.without_effect:
            continue
        of_broker = TopicValues({}, values).value(name)
        assert of_broker is not None, name
        assert config.default is not None, name
        assert TopicValues({name: config.default}, values).value(name) == of_broker, name


def components() -> list[type[Any]]:
    return [each for each in vars(component_settings).values() if is_dataclass(each)]


def read_by_the_controller() -> set[str]:
    read: set[str] = set()

    class Asked(BrokerSettings):
        def value(self, image: MetadataImage, name: str) -> ConfigValue:
            read.add(name)
            return super().value(image, name)

    settings = ClusterSettings(Asked(1, BROKER_CONFIGS, {}), MetadataImage())
    for name, part in vars(ClusterSettings).items():
        if isinstance(part, property):
            getattr(settings, name)
    settings.unclean_leader_election_enable("t")
    settings.min_insync_replicas("t")
    for topic in INTERNAL_TOPICS:
        settings.internal_topic(topic)
    return read


def test_every_setting_is_read() -> None:
    values = broker_values()
    for component in components():
        read_settings(component, values)
    read_topic_settings({}, values)
    for codec in ("gzip", "zstd"):
        read_topic_settings({"compression.type": codec}, values)
    with_effect = {name for name, config in BROKER_CONFIGS.items() if not config.without_effect}
    assert with_effect - values.read - read_by_the_controller() == set()


def test_every_field_of_a_component_is_used() -> None:
    root = Path(barnabas.__file__).parent
    code = "".join(
        path.read_text()
        for path in sorted(root.rglob("*.py"))
        if path.parent.name != "settings" or path.name in ("named_listeners.py", "group_limits.py")
    )
    unused = {
        name
        for component in (*components(), TopicSettings)
        for name in (each.name for each in fields(component))
        if f".{name}" not in code
    }
    assert unused == set()


def test_settings_without_a_meaning_here_are_noted() -> None:
    config = BrokerConfig(
        {"num.io.threads": "8", "group.streams.max.size": "9", "log.preallocate": "true"}
    )
    assert config.without_effect == {
        "num.io.threads": "a node is one process with one event loop",
        "group.streams.max.size": "streams groups are not served",
        "log.preallocate": "segment files grow as they are written",
    }
    assert config.static.keys() == config.without_effect.keys()


@pytest.mark.parametrize(
    "name",
    [
        "authorizer.something",
        "sasl.login.class",
    ],
)
def test_settings_of_security_are_not_ignored(name: str) -> None:
    with pytest.raises(ConfigError, match="false sense of safety"):
        BrokerConfig({name: "1"})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("authorizer.class.name", "org.example.Mine", "authorizer.class.name must be empty or org"),
        ("super.users", "alice", "super.users=alice: 'alice' is not a principal"),
    ],
)
def test_an_authorizer_that_can_not_be_had(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BrokerConfig({name: value})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("remote.log.storage.system.enable", "there is no tiered storage"),
        ("create.topic.policy.class.name", "Java classes are not loaded; access rules cover"),
        ("max.connection.creation.rate", "use the quota `connection_creation_rate`"),
        ("ssl.cipher.suites", "false sense of safety.* use `ssl.enabled.protocols`"),
        ("create.topic.policy", "there is no setting 'create.topic.policy'"),
    ],
)
def test_settings_that_somebody_relies_on_are_not_ignored(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BrokerConfig({name: "1"})


@pytest.mark.parametrize(
    ("name", "good", "bad", "message"),
    [
        ("log.cleaner.enable", "true", "false", r"must be true \(compaction is always on\)"),
        ("transaction.partition.verification.enable", "true", "false", "must be true"),
        ("unstable.api.versions.enable", "false", "true", "must be false"),
        (
            "group.coordinator.rebalance.protocols",
            "classic,consumer,streams",
            "classic",
            "must have consumer, not only 'classic'",
        ),
    ],
)
def test_what_is_always_on_can_not_be_turned_off(
    name: str, good: str, bad: str, message: str
) -> None:
    assert name in BrokerConfig({name: good}).without_effect
    with pytest.raises(ConfigError, match=message):
        BrokerConfig({name: bad})


def test_all_wrong_settings_are_named_at_once() -> None:
    wrong = {"remote.fetch.max.wait.ms": "1", "num.partition": "1", "log.cleaner.enable": "false"}
    with pytest.raises(ConfigError) as refused:
        BrokerConfig({"num.partitions": "1", **wrong})
    first, *others = str(refused.value).splitlines()
    assert first == "3 settings can't be used:"
    assert len(others) == 3
    for name in wrong:
        assert any(name in line for line in others)


def test_every_setting_of_kafka_is_supported_without_effect_or_refused() -> None:
    names = (Path(__file__).parent / "kafka-4.3-settings.txt").read_text().split()
    without_effect = {config.name for config in BROKER_CONFIGS_WITHOUT_EFFECT}
    supported = (BROKER_CONFIGS.keys() - without_effect) | ONLY_AT_THE_START.keys()
    for name in names:
        kinds = [name in supported, name in without_effect, refused_group(name) is not None]
        assert kinds.count(True) == 1, name


def test_every_refusal_is_about_settings_of_kafka() -> None:
    names = (Path(__file__).parent / "kafka-4.3-settings.txt").read_text().split()
    groups = [refused_group(name) for name in names]
    for group in REFUSED_SETTINGS:
        assert group in groups, group.names


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("zookeeper.connect", "localhost:2181", "controller.quorum.voters=ID@HOST:PORT"),
        ("zookeeper.connection.timeout.ms", "18000", "there is no ZooKeeper"),
        ("broker.id.generation.enable", "true", "set `node.id`"),
        ("reserved.broker.max.id", "1000", "set `node.id`"),
        ("port", "9092", "use `listeners=HOST:PORT`"),
        ("advertised.host.name", "a", "use `advertised.listeners=HOST:PORT`"),
        ("control.plane.listener.name", "CONTROL", "inter.broker.listener.name"),
        ("delegation.token.master.key", "x", "use `delegation.token.secret.key`"),
        ("log.message.timestamp.difference.max.ms", "1", "message.timestamp.before.max.ms"),
        ("quota.producer.default", "1", "use quotas"),
        ("confluent.support.metrics.enable", "true", "Confluent"),
    ],
)
def test_settings_of_older_kafkas_name_what_to_write(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig({name: value})
    assert str(refused.value).startswith(f"{name} is not supported")
    assert said in str(refused.value)
    assert "did you mean" not in str(refused.value)


def test_settings_that_are_refused_for_one_reason_share_a_line() -> None:
    wrong = {"zookeeper.connect": "a:2181", "zookeeper.connection.timeout.ms": "18000"}
    with pytest.raises(ConfigError) as refused:
        BrokerConfig(wrong)
    assert str(refused.value).startswith(
        "zookeeper.connect, zookeeper.connection.timeout.ms are not supported: there is no"
    )
    with pytest.raises(ConfigError) as refused:
        BrokerConfig({**wrong, "num.partitions": "x"})
    assert str(refused.value).startswith("3 settings can't be used:\n  ")
    assert str(refused.value).count("\n") == 2


def test_what_takes_the_place_of_an_older_setting_exists() -> None:
    text = " ".join(group.instead for group in OLDER_SETTINGS)
    instead = re.findall(r"`([a-z.]+)", text)
    assert len(instead) > 5
    assert not [name for name in instead if name not in BROKER_CONFIGS]


def test_an_id_that_kafka_would_generate_names_the_setting_of_the_file() -> None:
    with pytest.raises(ConfigError, match=r"broker\.id=-1: ids are not generated; set node\.id"):
        BrokerConfig({"broker.id": "-1"})


@pytest.mark.parametrize("name", ["process.roles", "controller.listener.names"])
def test_settings_of_controllers_name_the_one_that_counts(name: str) -> None:
    why = BrokerConfig({name: "x"}).without_effect[name]
    assert "controller.quorum.voters" in why


def test_the_largest_double_of_java_is_no_limit_for_the_cleaner() -> None:
    config = BrokerConfig({"log.cleaner.io.max.bytes.per.second": "1.7976931348623157E308"})
    assert config.cleaner.max_bytes_per_second > 1e300


def test_assignors_may_have_the_names_of_kafkas_classes() -> None:
    classes = "org.apache.kafka.coordinator.group.assignor."
    names = f"{classes}RangeAssignor,{classes}UniformAssignor"
    config = BrokerConfig({"group.consumer.assignors": names})
    assert config.consumer_groups.assignors == "range,uniform"


def test_the_controller_is_as_patient_as_the_settings_say() -> None:
    settings = {
        "broker.session.timeout.ms": "1234",
        "auto.leader.rebalance.enable": "false",
        "leader.imbalance.check.interval.seconds": "7",
        "leader.imbalance.per.broker.percentage": "37",
    }
    controller = new_controller(BrokerConfig(settings), MetadataImage(), Random(1), 0, lambda: 0)
    assert controller._config == ControllerConfig(
        session_timeout_ms=1234,
        auto_leader_rebalance=False,
        leader_imbalance_check_interval_ms=7000,
        leader_imbalance_percentage=37,
    )


def test_older_names_of_kafka_are_accepted() -> None:
    config = BrokerConfig({"broker.id": "7", "log.dir": "/d"})
    assert (config.node.node_id, config.static["log.dirs"]) == (7, "/d")
    assert BrokerConfig({"log.dir": "/d", "log.dirs": "/e"}).static["log.dirs"] == "/e"
    assert BrokerConfig({"broker.id": "7", "node.id": "7"}).node.node_id == 7
    with pytest.raises(ConfigError, match=r"broker\.id=7 and node\.id=8 differ"):
        BrokerConfig({"broker.id": "7", "node.id": "8"})


@pytest.mark.parametrize("name", ["num.partition", "log.directory", "listener"])
def test_a_misspelt_setting_is_recognised(name: str) -> None:
    with pytest.raises(ConfigError, match="did you mean") as refused:
        BrokerConfig({name: "1"})
    assert any(repr(known) in str(refused.value) for known in BROKER_CONFIGS)


def test_a_bad_value_names_its_setting() -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"):
        BrokerConfig({"num.partitions": "x"})


def test_settings_of_consumer_groups_have_limits() -> None:
    with pytest.raises(ConfigError, match=r"session.timeout.ms is 1000, must be between"):
        BrokerConfig({"group.consumer.session.timeout.ms": "1000"})
    low = {"group.consumer.min.session.timeout.ms": "1", "group.consumer.session.timeout.ms": "9"}
    with pytest.raises(ConfigError, match=r"heartbeat.interval.ms is 5000, must be less"):
        BrokerConfig(low)
