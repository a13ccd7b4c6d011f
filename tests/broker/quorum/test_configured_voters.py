"""The list of voters: read strictly, and held against the node's own settings."""

import pytest

from barnabas.broker.quorum.configured_voters import (
    Voter,
    configured_voters,
    format_voters,
    parse_voters,
)
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.wire.endpoint import Address

THREE = "1@h1:9092,2@h2:9093,3@[::1]:9094"


def test_voters_are_numbers_and_addresses() -> None:
    voters = parse_voters(THREE)
    assert voters == [
        Voter(1, Address("h1", 9092)),
        Voter(2, Address("h2", 9093)),
        Voter(3, Address("::1", 9094)),
    ]
    assert format_voters(voters) == THREE
    assert parse_voters(None) == parse_voters(" ") == []
    assert parse_voters(" 1@h1:9092 , 2@h2:9093 ") == voters[:2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("h1:9092", "'h1:9092' is not ID@HOST:PORT"),
        ("a@h1:9092", "is not ID@HOST:PORT"),
        ("-1@h1:9092", "is not ID@HOST:PORT"),
        ("4294967296@h1:9092", "is not ID@HOST:PORT"),
        ("1@h1:9092,", "is not ID@HOST:PORT"),
        ("1@h1", "write it as HOST:PORT"),
        ("1@h1:x", "write it as HOST:PORT"),
        ("1@SSL://h1:9092", "is not ID@HOST:PORT"),
        ("1@h1:0", "not an address that other nodes can connect to"),
        ("1@0.0.0.0:9092", "not an address that other nodes can connect to"),
        ("1@h1:9092,1@h2:9092", "node 1 is named twice"),
        ("1@h1:9092,2@h1:9092", "nodes 1 and 2 have the same address"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_voters(text)
    assert said in str(refused.value)
    assert str(refused.value).startswith("controller.quorum.voters=")


def configured(node_id: int, listen: str, advertised: str | None = None) -> list[Voter]:
    settings = {
        "node.id": str(node_id),
        "listeners": listen,
        "controller.quorum.voters": THREE,
    }
    if advertised is not None:
        settings["advertised.listeners"] = advertised
    return configured_voters(BrokerConfig(settings))


def test_a_voter_has_to_listen_where_the_others_look_for_it() -> None:
    assert len(configured(2, "0.0.0.0:9093")) == 3
    assert len(configured(2, "0.0.0.0:19093", "h2:9093")) == 3
    with pytest.raises(
        ConfigError, match=r"node 2 is to be reached at h2:9093.*listens at h2:9092"
    ):
        configured(2, "h2:9092")
    with pytest.raises(ConfigError, match="needs a port that other nodes know, 9093"):
        configured(2, "h2:0")


def test_voters_at_a_listener_for_controllers_are_told_the_one_that_they_have() -> None:
    settings = {
        "process.roles": "broker,controller",
        "node.id": "2",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "advertised.listeners": "PLAINTEXT://h2:9092",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }
    for_kafka = "1@h1:9093,2@h2:9093,3@h3:9093"
    with pytest.raises(ConfigError, match="listener CONTROLLER is not opened") as refused:
        configured_voters(BrokerConfig({**settings, "controller.quorum.voters": for_kafka}))
    instead = "controller.quorum.voters=1@h1:9092,2@h2:9092,3@h3:9092"
    assert f"write {instead}" in str(refused.value)
    name, _, voters = instead.partition("=")
    assert len(configured_voters(BrokerConfig({**settings, name: voters}))) == 3


def test_a_node_that_does_not_vote_listens_anywhere() -> None:
    assert len(configured(7, "h7:0")) == 3


def test_but_where_the_others_find_it() -> None:
    with pytest.raises(ConfigError, match=r"give advertised.listeners=HOST:PORT"):
        configured(7, "0.0.0.0:9092")
    assert len(configured(7, "0.0.0.0:9092", "h7:9092")) == 3
    alone = BrokerConfig({"node.id": "7", "listeners": "0.0.0.0:9092"})
    assert configured_voters(alone) == []
