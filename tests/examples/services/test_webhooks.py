"""The webhook receiver: signatures, deliveries that come twice, a broker that does not answer."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

import barnabas
from examples.services import webhooks
from tests.support.wait import wait_until


@pytest.fixture
def client(broker: barnabas.Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    with barnabas.Admin(broker.bootstrap_servers) as admin:
        for topic in ("deliveries", "payments"):
            admin.create_topic(topic, partitions=2, exist_ok=True)
    monkeypatch.setattr(webhooks.app, "bootstrap_servers", broker.bootstrap_servers)
    with TestClient(webhooks.web) as client:
        yield client
    webhooks.firsts.clear()  # as a new process


def test_it_knows_what_came_before_it_started(
    broker: barnabas.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with barnabas.Admin(broker.bootstrap_servers) as admin:
        admin.create_topic("deliveries", partitions=2, exist_ok=True)
    with barnabas.Producer(broker.bootstrap_servers, key=str) as producer:
        first = producer.send("deliveries", b"no payment", key="before").result()
    monkeypatch.setattr(webhooks.app, "bootstrap_servers", broker.bootstrap_servers)
    with TestClient(webhooks.web) as client:
        assert webhooks.firsts["before"] == (first.partition, first.offset)
        assert deliver(client, "before") == 202
    webhooks.firsts.clear()


def deliver(client: TestClient, delivery: str, payer: str = "ada", **changed: str) -> int:
    body = json.dumps({"payer": payer, "cents": 1250})
    signed = webhooks.signature(delivery, body.encode())
    headers = {"X-Delivery-Id": delivery, "X-Signature": signed, **changed}
    return client.post("/webhooks", content=body, headers=headers).status_code


def test_a_delivery_is_stored_and_booked_once(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deliver(client, "a", **{"X-Signature": "sha256=0"}) == 401
    with ThreadPoolExecutor(8) as pool:  # some of these are stored, since none is known yet
        answers = list(pool.map(lambda _: deliver(client, "b"), range(8)))
    assert answers == [202] * 8
    assert deliver(client, "b") == 202
    assert deliver(client, "c", "eve") == 202
    printed = ""

    def is_booked() -> bool:
        nonlocal printed
        printed += capsys.readouterr().out
        return "b: ada" in printed and "c: eve" in printed

    wait_until(is_booked)
    with barnabas.Admin(webhooks.app.bootstrap_servers) as admin:
        for group in ("unique-deliveries", "booking"):
            wait_until(lambda group=group: admin.describe_group(group).lag == 0)
    is_booked()
    lines = [line for line in printed.splitlines() if line.startswith(("b:", "c:"))]  # not others'
    assert sorted(lines) == ["b: ada pays 12.50", "c: eve pays 12.50"]


def test_no_answer_of_the_broker_is_no_acknowledgement(
    broker: barnabas.Cluster, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "ANSWER_S", 0.2)
    broker.pause(1)
    try:
        assert deliver(client, "e") == 503
    finally:
        broker.resume(1)
    wait_until(lambda: deliver(client, "e") == 202)
