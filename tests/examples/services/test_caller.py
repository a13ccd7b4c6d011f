"""The rate-limited caller: below the limit, later when asked to, and dead letters."""

import asyncio
import json

import httpx
import pytest

import barnabas
from barnabas import Message
from examples.services import caller
from examples.services.caller import Notification, TokenBucket
from tests.support.wait import wait_until_async


class Service:
    """What is called: it refuses as often as it is told to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.refusals: list[tuple[int, dict[str, str]]] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.calls.append(request.headers["Idempotency-Key"])
        if self.refusals:
            status, headers = self.refusals.pop(0)
            return httpx.Response(status, headers=headers, text="refused")
        assert json.loads(request.content)["to"]
        return httpx.Response(200)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    made = Service()
    client = httpx.AsyncClient

    def connected(**options: object) -> httpx.AsyncClient:
        return client(transport=httpx.MockTransport(made.answer))

    monkeypatch.setattr(caller.httpx, "AsyncClient", connected)
    monkeypatch.setattr(caller, "bucket", TokenBucket(1e6, 1000))
    return made


def test_it_waits_for_as_long_as_the_service_asks(service: Service) -> None:
    with caller.app.test() as run:
        service.refusals = [(429, {"Retry-After": "20"}), (500, {})]
        run.send("notifications", Notification("1", "hello"), key="a")
        assert len(run.records("notifications.retry.30s")) == 1  # the first one that is enough
        run.send("notifications", Notification("2", "hello"), key="b")
        assert service.calls == ["a", "b"]
        run.advance("29s")
        assert service.calls.count("a") == 1
        run.advance("10m")
        assert service.calls.count("a") == 2
        assert run.dead_letters("notifications-dead") == []


def test_what_can_not_succeed_is_a_dead_letter(service: Service) -> None:
    with caller.app.test() as run:
        service.refusals = [(400, {})]
        run.send("notifications", Notification("none", "hello"), key="a")
        run.send("notifications", b"no notification", key="b")
        letters = run.dead_letters("notifications-dead")
        assert [each.attempts for each in letters] == [1, 1]
        assert letters[0].reason == "GiveUp: the service answers 400: refused"
        service.refusals = [(503, {})] * 4
        run.send("notifications", Notification("3", "hello"), key="c")
        run.advance("1h")
        (*_, last) = run.dead_letters("notifications-dead")
        assert (last.attempts, last.message.key) == (4, b"c")
        assert service.calls == ["a", "c", "c", "c", "c"]


def test_the_bucket() -> None:
    now = 0.0
    bucket = TokenBucket(10, 3, lambda: now)
    assert [bucket.take() for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])
    now = 0.5
    assert bucket.take() == 0
    now = 100  # a pause is worth no more than a burst
    assert [bucket.take() for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])


def test_with_a_broker(
    broker: barnabas.Cluster, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("notifications", partitions=2)
    monkeypatch.setattr(caller.app, "bootstrap_servers", broker.bootstrap_servers)
    service.refusals = [(429, {"Retry-After": "1"})] * 3
    with barnabas.Producer(broker.bootstrap_servers, key=str, value=Notification) as producer:
        for number in range(20):
            producer.send("notifications", Notification("1", "hello"), key=f"{number}")

    async def run() -> None:
        async with caller.app.started():
            await wait_until_async(lambda: len(service.calls) == 23)

    asyncio.run(run())
    assert len(set(service.calls)) == 20
    with barnabas.Consumer(broker.bootstrap_servers, "notifications.retry.1s") as consumer:
        waited: list[Message[bytes, bytes]] = []
        while len(waited) < 3:
            waited += consumer.poll(120)
    assert all(dict(each.headers)["retry.topic"] == b"notifications" for each in waited)
