"""Requests of one client, and slow ones, are logged, switched on and off while the node runs."""

import json
import re
from typing import Any

import pytest

from barnabas.broker.request_log.client_filter import ClientFilter
from barnabas.broker.request_log.slow_rate import SlowRate
from barnabas.wire.messages.metadata import MetadataRequest
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BROKER,
    BY_NAME,
    DELETE,
    SET,
    alter,
    asked,
    create_topic,
    fetch_request,
    produced,
)
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

SETTINGS = {"log.format": "json", "min.insync.replicas": "1"}
BROKER_1 = (BROKER, "1")
CLIENTS, SLOW = "request.log.clients", "request.log.slow.ms"


def requests(node: BrokerProcess) -> list[dict[str, Any]]:
    """The fields of all requests that were logged."""
    lines = [line for line in node.log.read_text().splitlines() if line.startswith("{")]
    return [told["request"] for told in map(json.loads, lines) if "request" in told]


def configure(client: RawClient, name: str, value: str | None) -> None:
    assert alter(client, BROKER_1, (name, DELETE if value is None else SET, value)) == (0, None)


def test_one_client_is_logged_and_others_are_not(node: BrokerProcess) -> None:
    with (
        RawClient(node.host, node.port, client_id="watched-1") as watched,
        RawClient(node.host, node.port, client_id="other") as other,
    ):
        create_topic(other, "watched")
        configure(other, CLIENTS, "client-id=watched-*")
        produced(watched, "watched", batch(b"secret value"))
        watched.ask(MetadataRequest())
        watched.ask(fetch_request(asked("nowhere", {0: 0}), max_wait_ms=0), BY_NAME)
        other.ask(MetadataRequest())
        wait_until(lambda: len(requests(node)) >= 3, "requests are not logged")
        configure(other, CLIENTS, None)
        watched.ask(MetadataRequest())
        other.ask(MetadataRequest())
    produce, metadata, fetch = requests(node)
    assert [each["api"] for each in (produce, metadata, fetch)] == ["Produce", "Metadata", "Fetch"]
    assert {each["clientId"] for each in requests(node)} == {"watched-1"}
    assert produce["principal"] == "User:ANONYMOUS"
    assert "'watched'" in produce["request"]
    assert re.search(r"records=<\d+ bytes>", produce["request"])
    assert "secret" not in node.log.read_text()
    assert fetch["errors"] == "UNKNOWN_TOPIC_OR_PARTITION x 1"
    assert produce["totalTimeMs"] >= produce["localTimeMs"] > 0
    assert produce["responseBytes"] > 0


def test_values_of_settings_are_not_logged(node: BrokerProcess) -> None:
    with RawClient(node.host, node.port, client_id="admin") as admin:
        configure(admin, CLIENTS, "address=127.0.0.1")
        create_topic(admin, "configured")
        assert alter(admin, (2, "configured"), ("retention.ms", SET, "123454321"))[0] == 0
        configure(admin, CLIENTS, None)
    text = node.log.read_text()
    assert "name='retention.ms'" in text
    assert "123454321" not in text


def test_a_wait_for_records_is_not_slow_and_all_else_is(node: BrokerProcess) -> None:
    with RawClient(node.host, node.port, client_id="slow") as client:
        create_topic(client, "slow")
        configure(client, SLOW, "0")
        produced(client, "slow", batch(b"v"))
        wait_until(
            lambda: any(each["api"] == "Produce" for each in requests(node)[-5:]),
            "a request that took time is not logged",
        )
        configure(client, SLOW, "100000")
        before = len(requests(node))
        client.ask(fetch_request(asked("slow", {0: 1}), max_wait_ms=200), BY_NAME)
        configure(client, SLOW, None)
        configure(client, CLIENTS, "principal=User:ANONYMOUS")
        client.ask(fetch_request(asked("slow", {0: 1}), max_wait_ms=200), BY_NAME)
        wait_until(
            lambda: any(each["api"] == "Fetch" for each in requests(node)[before:]),
            "the fetch is not logged",
        )
        configure(client, CLIENTS, None)
    fetches = [each for each in requests(node)[before:] if each["api"] == "Fetch"]
    assert len(fetches) == 1, "a fetch that waits for records is not slow"
    assert fetches[0]["remoteTimeMs"] >= 190
    assert fetches[0]["localTimeMs"] < fetches[0]["remoteTimeMs"]


class _Connection:
    principal = "User:alice"
    client_host = "10.0.0.7"


def _frame(client_id: bytes) -> memoryview:
    return memoryview(bytes(8) + len(client_id).to_bytes(2) + client_id)


@pytest.mark.parametrize(
    ("text", "is_meant"),
    [
        ("*", True),
        ("client-id=orders", True),
        ("client-id=order?", False),
        ("client-id=ord*", True),
        ("client-id=[o]rders", False),
        ("client-id=order", False),
        ("principal=User:alice", True),
        ("principal=User:bob,address=10.0.0.*", True),
        ("address=10.0.0.70", False),
        ("client-id=10.0.0.7", False),
    ],
)
def test_which_clients_are_meant(text: str, is_meant: bool) -> None:
    clients = ClientFilter(text)
    for _ in range(2):
        assert clients.matches(_frame(b"orders"), _Connection()) is is_meant  # type: ignore[arg-type]


def test_lines_of_slow_requests_are_limited() -> None:
    now = 0.0
    left_out: list[int] = []
    rate = SlowRate(lambda: now, left_out.append)
    assert sum(rate.allows_one() for _ in range(150)) == 100
    now = 11.0
    assert rate.allows_one()
    assert left_out == [50]
