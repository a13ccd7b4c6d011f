"""Live updates: all browsers get all, resume where they were, and slow ones are dropped."""

import asyncio
import threading
from collections.abc import Iterator

import httpx
import pytest
import uvicorn

import barnabas
from examples.services import live
from tests.support.wait import LIMIT_S, wait_until


class Server:
    """A real one: a test client does not stream."""

    def __init__(self) -> None:
        config = uvicorn.Config(
            live.web, port=0, log_level="warning", timeout_graceful_shutdown=1, lifespan="on"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)

    def __enter__(self) -> str:
        self._thread.start()
        wait_until(lambda: self._server.started or not self._thread.is_alive())
        (socket,) = self._server.servers[0].sockets
        return f"http://127.0.0.1:{socket.getsockname()[1]}/updates"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        live.positions.clear()


@pytest.fixture
def producer(
    broker: barnabas.Cluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[barnabas.Producer[bytes, str]]:
    with barnabas.Admin(broker.bootstrap_servers) as admin:
        admin.create_topic("updates", partitions=2, exist_ok=True)
    monkeypatch.setattr(live.app, "bootstrap_servers", broker.bootstrap_servers)
    with barnabas.Producer(broker.bootstrap_servers, value=str) as producer:
        yield producer


def events(response: httpx.Response) -> Iterator[tuple[str, str]]:
    """Ids and data; the greeting is empty."""
    place, data = "", []
    for line in response.iter_lines():
        name, _, rest = line.partition(": ")
        if name == "id":
            place = rest
        elif name == "data":
            data.append(rest)
        elif not line:
            yield place, "\n".join(data)
            place, data = "", []


def test_browsers_get_all_and_resume_where_they_were(
    producer: barnabas.Producer[bytes, str],
) -> None:
    producer.send("updates", "before").result()
    with httpx.Client(timeout=LIMIT_S) as client:
        with (
            Server() as url,
            client.stream("GET", url) as first,
            client.stream("GET", url) as second,
        ):
            streams = [events(first), events(second)]
            for stream in streams:
                assert next(stream) == ("", "")
            for number in range(4):
                producer.send("updates", f"{number}\nlines", partition=number % 2).result()
            found = [[next(stream) for _ in range(4)] for stream in streams]
            for each in found:
                assert sorted(data for _, data in each) == [f"{n}\nlines" for n in range(4)]
            after_two, got = found[0][1][0], {data for _, data in found[0][:2]}
        producer.send("updates", "while it was down", partition=0).result()
        with (
            Server() as url,
            client.stream("GET", url, headers={"Last-Event-ID": after_two}) as again,
        ):
            stream = events(again)
            next(stream)
            rest = {next(stream)[1] for _ in range(3)}
            assert rest == {f"{n}\nlines" for n in range(4)} - got | {"while it was down"}
            producer.send("updates", "live", partition=1).result()
            assert next(stream)[1] == "live"
            assert client.get(url, headers={"Last-Event-ID": "x"}).status_code == 400


def test_a_slow_browser_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "WAITING", 5)

    async def run() -> list[str]:
        slow = live.follow({})
        await anext(slow)
        (queue,) = live.browsers
        for offset in range(8):
            await live.fan_out(barnabas.Message("updates", 0, offset, 0, b"", f"{offset}"))
        assert not live.browsers
        assert queue.full()
        return [each async for each in slow]  # it ends: the browser opens another connection

    found = asyncio.run(run())
    assert [each.split("data: ")[1].strip() for each in found] == ["0", "1", "2", "3", "4"]
    assert found[-1].startswith("id: 0:5\n")
    live.positions.clear()
