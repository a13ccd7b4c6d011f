"""State that is read from outside: on the command line, over HTTP, and in Python."""

import asyncio
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

import barnabas
from barnabas import App, Expires, State
from barnabas.app.serving import AppPages
from barnabas.errors import InvalidArgument, StateLost
from tests.app.state.counting import KEYS, changelog, counting, fill, handle
from tests.cli.conftest import Cli
from tests.support.wait import LIMIT_S, wait_until_async

both = pytest.mark.parametrize("exactly_once", [False, True])
SOURCE = """
from dataclasses import dataclass
import barnabas

@dataclass
class Total:
    count: int

app = barnabas.App("{servers}", state_directory="state")

@app.handler("{topic}", group="g-{topic}", name="count")
def count(number: str, total: barnabas.State[int]) -> None: ...

@app.handler("{topic}", group="g2-{topic}", name="sum")
def sum_up(number: str, total: barnabas.State[Total]) -> None: ...
"""


@pytest.fixture
def cli(servers: str) -> Cli:
    return Cli(servers)


@pytest.fixture
def service(servers: str, topic: str, tmp_path: Path) -> str:
    path = tmp_path / f"service_{topic.replace('-', '_')}.py"
    path.write_text(SOURCE.format(servers=servers, topic=topic))
    return str(path)


@both
def test_on_the_command_line(
    servers: str, topic: str, tmp_path: Path, cli: Cli, service: str, exactly_once: bool
) -> None:
    fill(servers, topic, 100)
    asyncio.run(
        handle(counting(servers, topic, tmp_path, exactly_once=exactly_once), servers, topic, 100)
    )
    assert cli.ok("app", "state", "get", service, "count", "k3") == "10\n"
    done = cli.run("app", "state", "get", service, "count", "k99")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no value for key k99" in done.stderr
    lines = cli.ok("app", "state", "list", service, "count").splitlines()
    assert sorted(lines) == [f"k{key}\t10" for key in range(KEYS)]
    (line,) = cli.ok(
        "app", "state", "list", service, "count", "--limit", "1", "--json"
    ).splitlines()
    assert json.loads(line)["value"] == 10
    handlers = cli.json("app", "state", "list", service)
    assert [each["changelog"] for each in handlers] == [
        changelog(topic),
        f"g2-{topic}.sum.total.changelog",
    ]
    said = cli.fails(1, "app", "state", "get", service, "sum", "k3")
    assert "there is no changelog" in said
    assert "there are: count, sum" in cli.fails(2, "app", "state", "get", service, "other", "k3")


def test_what_is_not_committed_is_not_read(servers: str, topic: str, tmp_path: Path) -> None:
    fill(servers, topic, 100)
    app = counting(servers, topic, tmp_path, exactly_once=True)
    asyncio.run(handle(app, servers, topic, 100))
    with barnabas.Admin(servers) as admin:
        (partition,) = [
            each.partition for each, end in admin.offsets(changelog(topic)).items() if end
        ][:1]
    with barnabas.Producer(servers, transactional_id=f"t-{topic}") as producer:
        with producer.transaction() as transaction:
            producer.send(changelog(topic), (99).to_bytes(8), key=b"k3", partition=partition)
            producer.flush()
            assert asyncio.run(app.read_state("count", "k3")) == 10
            transaction.roll_back()
        assert asyncio.run(app.read_state("count", b"k3")) == 10
    assert asyncio.run(app.read_state("count", "none")) is None
    with pytest.raises(InvalidArgument, match="there are: count"):
        asyncio.run(app.read_state("other", "k3"))


@both
def test_a_worker_reads_what_another_one_has(
    servers: str, topic: str, tmp_path: Path, exactly_once: bool
) -> None:
    """Its own writes too, at once."""

    async def main() -> None:
        first = counting(servers, topic, tmp_path, exactly_once=exactly_once)
        second = counting(servers, topic, tmp_path, exactly_once=exactly_once)
        async with first.started(), second.started():
            assert await first.read_state("count", "k1") is None  # nothing was handled yet
            await asyncio.to_thread(fill, servers, topic, 100)

            def is_done() -> bool:
                with barnabas.Admin(servers) as admin:
                    return sum(admin.group_offsets(f"g-{topic}").values()) >= 100

            await wait_until_async(is_done)
            for app in (first, second):
                found = [await app.read_state("count", f"k{key}") for key in range(KEYS)]
                assert found == [10] * KEYS

    asyncio.run(main())


def fetch(port: int, path: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@dataclass
class Total:
    count: int


def test_over_http(servers: str, topic: str, tmp_path: Path) -> None:
    app = App(servers, state_directory=tmp_path, serves_state=True)

    @app.handler(topic, group=f"g-{topic}", name="count")
    def count(number: str, total: State[Total]) -> None:
        total.set(Total(total.get(Total(0)).count + 1))

    async def main() -> None:
        pages = AppPages(app)
        port = await pages.start("127.0.0.1", 0)
        try:
            async with app.started():
                await asyncio.to_thread(fill, servers, topic, 100)
                expected = (200, '{"count":10}')

                def is_there() -> bool:
                    with barnabas.Admin(servers) as admin:
                        return sum(admin.group_offsets(f"g-{topic}").values()) >= 100

                await wait_until_async(is_there)
                assert await asyncio.to_thread(fetch, port, "/state/count/k3") == expected
                status, text = await asyncio.to_thread(fetch, port, "/state/count/k99")
                assert (status, text) == (404, "count has no value for key 'k99'\n")
                status, text = await asyncio.to_thread(fetch, port, "/state/other/k3")
                assert status == 404
                assert "there are: count" in text
                for path in ("/state/count", "/state/count/k3?key=nonsense"):
                    assert (await asyncio.to_thread(fetch, port, path))[0] == 404
                assert await asyncio.to_thread(fetch, port, "/state/count/6b33?key=hex") == expected
                assert (await asyncio.to_thread(fetch, port, "/livez"))[0] == 200
            # The process answers as long as it serves.
            assert await asyncio.to_thread(fetch, port, "/state/count/k3") == expected
        finally:
            await pages.close()

    asyncio.run(main())


def test_state_is_served_to_those_who_ask_for_it_only(
    servers: str, topic: str, tmp_path: Path
) -> None:
    app = counting(servers, topic, tmp_path)

    async def main() -> None:
        pages = AppPages(app)
        port = await pages.start("127.0.0.1", 0)
        try:
            assert (await asyncio.to_thread(fetch, port, "/state/count/k3"))[0] == 404
        finally:
            await pages.close()

    asyncio.run(main())


def test_expired_and_unreadable_values(servers: str, topic: str, tmp_path: Path) -> None:
    fill(servers, topic, 100)
    asyncio.run(handle(counting(servers, topic, tmp_path), servers, topic, 100))
    app = App(servers)

    @app.handler(topic, group=f"g-{topic}", name="count")
    def count(number: str, total: Annotated[State[int], Expires("1ms")]) -> None: ...

    assert asyncio.run(app.read_state("count", "k3")) is None
    app = App(servers)

    @app.handler(topic, group=f"g-{topic}", name="count")
    def other(number: str, total: State[Total]) -> None: ...

    with pytest.raises(StateLost, match="total for key b'k3' can't be read"):
        asyncio.run(app.read_state("count", "k3"))
