"""Listeners as properties files for Kafka have them."""

import pytest

from barnabas.broker.net.listeners import parse_listener
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.wire.endpoint import Address

STOCK = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "inter.broker.listener.name": "PLAINTEXT",
    "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,"
    "SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
    "num.network.threads": "3",
    "num.io.threads": "8",
    "socket.send.buffer.bytes": "102400",
    "socket.receive.buffer.bytes": "102400",
    "socket.request.max.bytes": "104857600",
    "log.dirs": "/tmp/kraft-combined-logs",
    "num.partitions": "1",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "log.retention.hours": "168",
    "log.segment.bytes": "1073741824",
    "log.retention.check.interval.ms": "300000",
}
"""config/server.properties of Kafka."""


def test_the_file_that_comes_with_kafka() -> None:
    config = BrokerConfig(STOCK)
    assert parse_listener(config.node.listeners, "listeners") == Address("", 9092)
    advertised = config.node.advertised_listeners
    assert advertised is not None
    assert parse_listener(advertised, "advertised.listeners") == Address("localhost", 9092)
    assert config.without_effect.keys() >= {
        "listeners=CONTROLLER://:9093",
        "advertised.listeners=CONTROLLER://localhost:9093",
        "controller.quorum.bootstrap.servers",
        "listener.security.protocol.map",
    }


@pytest.mark.parametrize("text", ["PLAINTEXT://:9092", ":9092", "EXTERNAL://:9092"])
def test_one_listener(text: str) -> None:
    given = {"listeners": text, "listener.security.protocol.map": "EXTERNAL:PLAINTEXT"}
    config = BrokerConfig(given)
    assert parse_listener(config.node.listeners, "listeners") == Address("", 9092)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"controller.listener.names": ""}, "one listener is supported.*controller.listener.names"),
        ({"listeners": "CONTROLLER://:9093"}, "every node is a broker"),
        ({"listeners": "SSL://:9092"}, "SSL has the protocol SSL, which is not supported"),
        ({"listener.security.protocol.map": "CONTROLLER:SSL"}, "CONTROLLER has the protocol SSL"),
        ({"listener.security.protocol.map": "PLAINTEXT:SASL_SSL"}, "has the protocol SASL_SSL"),
        ({"listener.security.protocol.map": "PLAINTEXT"}, "NAME:PROTOCOL"),
        ({"listener.security.protocol.map": ""}, "CONTROLLER is not supported, only PLAINTEXT"),
        ({"controller.quorum.bootstrap.servers": "a:9093,b:9093"}, "controller.quorum.voters="),
        ({"controller.quorum.bootstrap.servers": "localhost:9095"}, "controller.quorum.voters="),
    ],
)
def test_what_would_be_misunderstood_is_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BrokerConfig(STOCK | changed)


def test_with_voters_no_bootstrap_servers_are_needed() -> None:
    voters = {"controller.quorum.voters": "1@a:9092,2@b:9092,3@c:9092"}
    config = BrokerConfig(STOCK | voters | {"controller.quorum.bootstrap.servers": "b:9093"})
    assert "controller.quorum.bootstrap.servers" in config.without_effect
