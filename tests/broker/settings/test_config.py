"""A broker's settings: three sources, one value."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import barnabas
from barnabas.broker.node import Node
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.broker.settings.without_effect import NAMES_WITHOUT_EFFECT
from barnabas.controller.controller_config import ControllerConfig
from barnabas.log import LogConfig
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.topic_configs import TOPIC_CONFIGS


def test_defaults() -> None:
    config = BrokerConfig({})
    assert config.number("num.partitions") == 1
    assert config.flag("auto.create.topics.enable")
    assert config.text("listeners") == "localhost:9092"
    assert config.text("advertised.listeners") is None


def test_what_was_changed_while_running_stands_over_the_file() -> None:
    config = BrokerConfig({"num.partitions": "2"})
    config.set_dynamic({"num.partitions": "3"})
    assert config.number("num.partitions") == 3
    config.set_dynamic({})
    assert config.number("num.partitions") == 2


def test_a_topics_settings_stand_over_the_brokers() -> None:
    config = BrokerConfig({"log.retention.ms": "5", "log.segment.bytes": "2048"})
    log = config.log_config({"retention.ms": "6", "cleanup.policy": "compact, delete"})
    assert (log.retention_ms, log.segment_bytes) == (6, 2048)
    assert log.cleanup_policy == {"compact", "delete"}


def test_a_log_gets_its_defaults_from_the_tables() -> None:
    """The log's own defaults and the tables' are the same, written as each writes 'never'."""
    made, plain = BrokerConfig({}).log_config({}), LogConfig()
    assert made.flushes_by_count is made.flushes_by_age is False
    assert plain.flushes_by_count is plain.flushes_by_age is False
    for name in LogConfig.__dataclass_fields__:
        if not name.startswith("flush_"):
            assert getattr(made, name) == getattr(plain, name), name


@pytest.mark.parametrize("name", TOPIC_CONFIGS)
def test_every_setting_of_a_topic_has_a_value(name: str) -> None:
    config = BrokerConfig({})
    default = TOPIC_CONFIGS[name].default
    if TOPIC_CONFIGS[name].without_effect:
        return
    assert config.topic_value({}, name) is not None
    assert default is not None
    assert config.topic_value({name: default}, name) == config.topic_value({}, name)


def test_no_setting_is_documented_and_never_read() -> None:
    root = Path(barnabas.__file__).parent
    code = "".join(
        path.read_text() for path in sorted(root.rglob("*.py")) if path.name != "definitions.py"
    )
    assert 'f"{prefix}.replication.factor"' in code
    made_up = {"offsets.topic.replication.factor", "transaction.state.log.replication.factor"}
    unread = {
        name
        for name, config in BROKER_CONFIGS.items()
        if f'"{name}"' not in code and not config.without_effect
    }
    assert unread == made_up


def test_settings_without_a_meaning_here_are_noted() -> None:
    config = BrokerConfig(
        {"num.io.threads": "8", "group.share.max.size": "9", "log.preallocate": "true"}
    )
    assert config.without_effect == {
        "num.io.threads": "a node is one process with one event loop",
        "group.share.max.size": "only classic groups are served",
        "log.preallocate": "segment files grow as they are written",
    }
    assert config.static == {"log.preallocate": "true"}


@pytest.mark.parametrize(
    "name", ["authorizer.class.name", "ssl.keystore.location", "log.retention.hours"]
)
def test_settings_that_somebody_relies_on_are_not_ignored(name: str) -> None:
    with pytest.raises(ConfigError, match="no setting"):
        BrokerConfig({name: "1"})


def test_what_has_a_meaning_is_not_ignored() -> None:
    assert not NAMES_WITHOUT_EFFECT.keys() & BROKER_CONFIGS.keys()


def test_the_controller_is_as_patient_as_the_settings_say() -> None:
    settings = {
        "broker.session.timeout.ms": "1234",
        "auto.leader.rebalance.enable": "false",
        "leader.imbalance.check.interval.seconds": "7",
        "leader.imbalance.per.broker.percentage": "37",
    }
    node: Any = SimpleNamespace(
        config=BrokerConfig(settings), image=MetadataImage(), random=Random(1)
    )
    assert Node._new_controller(node, 0)._config == ControllerConfig(
        session_timeout_ms=1234,
        auto_leader_rebalance=False,
        leader_imbalance_check_interval_ms=7000,
        leader_imbalance_percentage=37,
    )


@pytest.mark.parametrize("name", ["num.partition", "log.dir", "listener"])
def test_a_misspelt_setting_is_recognised(name: str) -> None:
    with pytest.raises(ConfigError, match="did you mean") as refused:
        BrokerConfig({name: "1"})
    assert any(repr(known) in str(refused.value) for known in BROKER_CONFIGS)


def test_a_bad_value_names_its_setting() -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"):
        BrokerConfig({"num.partitions": "x"})
