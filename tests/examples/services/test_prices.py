"""The cache of prices: complete before the first answer, and after a restart."""

import pytest
from starlette.testclient import TestClient

import barnabas
from examples.services import prices
from examples.services.prices import Price


def test_in_memory() -> None:
    prices.prices.clear()
    with prices.app.test() as run:
        run.send("prices", Price(120), key="bread")
        run.send("prices", Price(130), key="bread")
        run.send("prices", b"no price", key="bread")  # logged and skipped
        run.send("prices", Price(90), key="milk")
        run.send("prices", None, key="milk")
        assert prices.prices == {"bread": Price(130)}


def test_it_answers_when_it_has_all(
    broker: barnabas.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with barnabas.Admin(broker.bootstrap_servers) as admin:
        admin.create_topic("prices", partitions=3, configs={"cleanup.policy": "compact"})
    with barnabas.Producer(broker.bootstrap_servers, key=str, value=Price) as producer:
        for number in range(5_000):
            producer.send("prices", Price(number), key=f"item {number % 1_000}")
    monkeypatch.setattr(prices.app, "bootstrap_servers", broker.bootstrap_servers)
    for expected in (4_007, 1):  # the second round is a restart
        prices.prices.clear()
        with TestClient(prices.web) as client:
            assert client.get("/prices/item 7").json() == {"cents": expected}
            assert len(prices.prices) == 1_000
            assert client.put("/prices/item 7", json={"cents": 1}).status_code == 200
            assert client.get("/prices/item 7").json() == {"cents": 1}
            client.put("/prices/new", json={"cents": 2})
            assert client.delete("/prices/new").status_code == 200
            assert client.get("/prices/new").status_code == 404
