"""The listeners of a node, also as properties files for Kafka have them."""

import pytest

from barnabas.broker.net.listener import listeners_of
from barnabas.broker.settings.component_settings import TlsSettings
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.settings.named_listeners import NamedListener
from barnabas.wire.endpoint import Address, SecurityProtocol

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


PLAINTEXT = SecurityProtocol.PLAINTEXT


def one(text: str) -> NamedListener:
    (listener,) = BrokerConfig({"listeners": text}).listeners
    return listener


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("localhost:9092", "localhost", 9092, "localhost:9092"),
        (" PLAINTEXT://broker.example:0 ", "broker.example", 0, "broker.example:0"),
        ("plaintext://10.0.0.1:65535", "10.0.0.1", 65535, "10.0.0.1:65535"),
        ("[::1]:9092", "::1", 9092, "[::1]:9092"),
        (":9092", "", 9092, ":9092"),
    ],
)
def test_addresses(text: str, host: str, port: int, shown: str) -> None:
    listener = one(text)
    assert (listener.name, listener.protocol) == ("PLAINTEXT", PLAINTEXT)
    assert (*listener.address, str(listener.address)) == (host, port, shown)


NO_ADDRESSES = """
localhost  localhost:  localhost:x  localhost:-1  localhost:65536  a:1,b:2  C://a:1  A//:B://x:1
"""


@pytest.mark.parametrize("text", ["", *NO_ADDRESSES.split()])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="listeners="):
        one(text)


SEVERAL = {
    "listeners": "INTERNAL://:9092,CLIENTS://0.0.0.0:9093",
    "advertised.listeners": "clients://broker.example:19093",
    "listener.security.protocol.map": "internal:PLAINTEXT,CLIENTS:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
}


def test_several_listeners() -> None:
    listeners = BrokerConfig(SEVERAL).listeners
    assert listeners.every == (
        NamedListener("INTERNAL", PLAINTEXT, Address("", 9092), None),
        NamedListener(
            "CLIENTS", PLAINTEXT, Address("0.0.0.0", 9093), Address("broker.example", 19093)
        ),
    )
    assert listeners.inter_broker.name == "INTERNAL"


@pytest.mark.parametrize(
    ("changed", "inter_broker"),
    [
        ({"inter.broker.listener.name": "clients"}, "CLIENTS"),
        ({"security.inter.broker.protocol": "PLAINTEXT"}, "PLAINTEXT"),
        ({}, "PLAINTEXT"),
    ],
)
def test_the_listener_between_nodes(changed: dict[str, str], inter_broker: str) -> None:
    given = {
        "listeners": "CLIENTS://:1,PLAINTEXT://:2",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }
    assert BrokerConfig(given | changed).listeners.inter_broker.name == inter_broker


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"listeners": "INTERNAL://:1,INTERNAL://:2"}, "INTERNAL is there twice"),
        ({"listeners": "INTERNAL://:1,CLIENTS://:1"}, "its own port"),
        ({"advertised.listeners": "OTHER://a:1"}, "there is no listener OTHER"),
        ({"advertised.listeners": "a:1"}, "there is no listener PLAINTEXT"),
        ({"inter.broker.listener.name": "OTHER"}, "there is no listener OTHER"),
        ({"listener.security.protocol.map": "INTERNAL:TLS"}, "no protocol 'TLS'; use one of PLAIN"),
        ({"listener.security.protocol.map": "INTERNAL:PLAINTEXT"}, "CLIENTS has no protocol"),
        ({"listener.name.internal.node.id": "1"}, "'node.id' is not a setting of a listener"),
    ],
)
def test_what_can_not_be_meant(changed: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        BrokerConfig(SEVERAL | changed)


def test_several_listeners_and_none_for_nodes() -> None:
    given = {name: text for name, text in SEVERAL.items() if not name.startswith("inter.")}
    with pytest.raises(ConfigError, match="name=INTERNAL"):
        BrokerConfig(given)


def test_the_file_that_comes_with_kafka() -> None:
    config = BrokerConfig(STOCK)
    assert config.listeners.every == (
        NamedListener("PLAINTEXT", PLAINTEXT, Address("", 9092), Address("localhost", 9092)),
    )
    assert config.without_effect.keys() >= {
        "listeners=CONTROLLER://:9093",
        "advertised.listeners=CONTROLLER://localhost:9093",
        "controller.quorum.bootstrap.servers",
    }


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"listeners": "CONTROLLER://:9093"}, "every node is a broker"),
        (
            {"listener.security.protocol.map": "CONTROLLER:SSL,PLAINTEXT:PLAINTEXT"},
            "CONTROLLER has the protocol SSL",
        ),
        ({"listener.security.protocol.map": "PLAINTEXT"}, "NAME:PROTOCOL"),
        ({"listener.security.protocol.map": ""}, "PLAINTEXT has no protocol; add it"),
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


def test_settings_of_one_listener() -> None:
    config = BrokerConfig(
        {
            "listeners": "INTERNAL://:1,CLIENTS://:2,USERS://:3,BOTH://:4",
            "listener.security.protocol.map": "INTERNAL:SSL,CLIENTS:SSL,USERS:SASL_SSL,"
            "BOTH:SASL_SSL",
            "inter.broker.listener.name": "INTERNAL",
            "ssl.client.auth": "required",
            "ssl.truststore.location": "ca.pem",
            "listener.name.clients.ssl.client.auth": "requested",
            "listener.name.both.ssl.client.auth": "required",
        }
    )
    tls = {name: listener.settings(TlsSettings) for name, listener in listeners_of(config).items()}
    assert {name: each.client_auth for name, each in tls.items()} == {
        "INTERNAL": "required",
        "CLIENTS": "requested",
        "USERS": "none",  # as in Kafka: they sign in instead
        "BOTH": "required",
    }
    assert {each.truststore_location for each in tls.values()} == {"ca.pem"}


def test_a_mistyped_listener() -> None:
    with pytest.raises(ConfigError, match="there is no listener CLIENT; did you mean 'clients'"):
        BrokerConfig(SEVERAL | {"listener.name.client.ssl.client.auth": "required"})
