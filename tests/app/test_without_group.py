"""Handlers without a group: every process handles all records, and is ready when it has them."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import pytest

import barnabas
from barnabas import App, Message, TopicPartition
from barnabas.errors import HandlerFailed, InvalidArgument
from tests.support.wait import wait_until_async


def test_all_that_was_there_is_handled_before_other_handlers_begin(
    servers: str, topic: str, app_broker: barnabas.Cluster
) -> None:
    """Also where a topic ends with records of a transaction that was rolled back."""
    orders = f"{topic}-orders"
    app_broker.create_topic(orders)
    with barnabas.Producer(servers, key=str, value=str) as producer:
        for number in range(2_000):
            producer.send(topic, f"{number}", key=f"k{number}")
        producer.send(orders, "first")
    with barnabas.Producer(servers, transactional_id=uuid4().hex) as producer:
        with producer.transaction():
            producer.send(topic, b"committed", key=b"t", partition=0)
        with suppress(ZeroDivisionError), producer.transaction():
            producer.send(topic, b"rolled back", key=b"t", partition=0)
            raise ZeroDivisionError

    async def run() -> tuple[int, list[int]]:
        app = App(servers)
        table: dict[str, str] = {}
        seen: list[int] = []

        @app.handler(orders, group=f"g-{topic}")
        async def handle(order: str) -> None:
            seen.append(len(table))

        @app.handler(topic, group=None)
        async def keep(message: Message[str, str]) -> None:
            table[message.key] = message.value

        async with app.started():
            at_start = len(table)
            assert app.is_ready
            await app.send(topic, "later", key="later")
            await wait_until_async(lambda: seen and "later" in table)
        return at_start, seen

    for _ in range(2):  # nothing is committed: the next start has it all again
        at_start, seen = asyncio.run(run())
        assert at_start >= 2_001
        assert all(each >= 2_001 for each in seen)
        with barnabas.Producer(servers, value=str) as producer:
            producer.send(orders, "another")


def test_the_latest_only(servers: str, topic: str) -> None:
    with barnabas.Producer(servers) as producer:
        producer.send(topic, b"before")
    app = App(servers)
    seen: list[bytes] = []

    @app.handler(topic, group=None, start="latest")
    async def watch(value: bytes) -> None:
        seen.append(value)

    @app.handler(topic, group=f"g-{topic}")
    async def other(value: bytes) -> None: ...

    async def run() -> None:
        async with app.started():
            delivery = await app.send(topic, b"after", key="k")
            assert delivery.topic == topic
            assert delivery.offset >= 0
            await app.until_handled("watch", delivery)
            assert seen == [b"after"]
            await app.until_handled("watch", delivery)  # again, at once
            with pytest.raises(InvalidArgument, match="has a group"):
                await app.until_handled("other", delivery)

    asyncio.run(run())
    assert seen == [b"after"]


def test_offsets_that_were_kept_elsewhere(servers: str, topic: str) -> None:
    with barnabas.Producer(servers) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=number % 2)
    app = App(servers)
    seen: list[bytes] = []

    @app.handler(topic, group=None, start=lambda: {TopicPartition(topic, 0): 4})
    async def follow(value: bytes) -> None:
        seen.append(value)

    async def run() -> None:
        async with app.started():
            assert sorted(seen) == [b"1", b"3", b"5", b"7", b"8", b"9"]

    asyncio.run(run())


def test_what_others_wait_for_ends_last(servers: str, topic: str) -> None:
    app = App(servers)
    table: list[bytes] = []
    began, done = asyncio.Event(), []

    @app.handler(topic, group=None)
    async def keep(value: bytes) -> None:
        await asyncio.sleep(0.3)
        table.append(value)

    @app.handler(topic, group=f"g-{topic}")
    async def look(message: Message[bytes, bytes]) -> None:
        began.set()
        await app.until_handled("keep", message)
        done.append(message.value)

    async def run() -> None:
        async with app.started():
            await app.send(topic, b"x", key="k")
            await began.wait()

    asyncio.run(run())
    assert done == table == [b"x"]


def test_a_failure_ends_waiting_for_it(
    servers: str, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = App(servers)

    @app.handler(topic, group=None)
    async def keep(value: bytes) -> None:
        raise ValueError(value)

    async def run() -> None:
        async with app.started():
            await app.until_handled("keep", await app.send(topic, b"bad"))

    with pytest.raises(HandlerFailed, match="bad"):
        asyncio.run(run())
    assert "handler keep has stopped: handler keep failed 1 time" in caplog.text


def test_a_failure_while_catching_up_ends_the_start(servers: str, topic: str) -> None:
    with barnabas.Producer(servers) as producer:
        producer.send(topic, b"bad")
    app = App(servers)

    @app.handler(topic, group=None)
    def keep(value: bytes) -> None:
        raise ValueError(value)

    with pytest.raises(HandlerFailed, match="bad"):
        asyncio.run(app.serve())
    assert app.failure is None


def test_a_signal_ends_it_before_it_has_caught_up(servers: str, topic: str) -> None:
    with barnabas.Producer(servers) as producer:
        producer.send(topic, b"slow")
    app = App(servers)
    began = asyncio.Event()
    ended: list[bool] = []

    @app.handler(topic, group=None)
    async def keep(value: bytes) -> None:
        began.set()
        await asyncio.sleep(0.05)
        ended.append(app.is_ready)

    async def run() -> None:
        serving = asyncio.ensure_future(app.serve())
        await began.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await serving

    asyncio.run(run())
    assert ended == [False]


def test_in_memory() -> None:
    app = App()
    table: dict[str, int] = {}

    @app.handler("prices", group=None)
    def keep(message: Message[str, int]) -> None:
        table[message.key] = message.value

    @app.every("10s")
    async def publish() -> None:
        await app.send("prices", len(table), key="apple")

    with pytest.raises(InvalidArgument, match="is not running"):
        asyncio.run(app.send("prices", 1))
    with app.test() as run:
        run.send("prices", 5, key="pear")
        run.advance("10s")
        assert table == {"pear": 5, "apple": 1}


def test_they_begin_in_order_each_when_the_one_before_has_caught_up() -> None:
    app = App()
    snapshots: list[str] = []
    found: list[int] = []

    @app.handler("snapshots", group=None)
    async def restore(number: str) -> None:
        await asyncio.sleep(0.005)
        snapshots.append(number)

    @app.handler("events", group=None)
    async def follow(number: str) -> None:
        found.append(len(snapshots))

    run = app.test()
    for topic in ("snapshots", "events"):
        for number in range(5):
            run._topics.append(topic, b"%d" % number, None, ())
    with run:
        assert found == [5] * 5


def test_a_signal_does_not_hide_a_failure_or_cut_the_end_short(servers: str, topic: str) -> None:
    closed: list[bool] = []

    @asynccontextmanager
    async def lifespan(_: App) -> AsyncIterator[None]:
        yield
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.1)
        closed.append(True)

    app = App(servers, lifespan=lifespan)

    @app.handler(topic, group=None)
    async def keep(value: bytes) -> None:
        raise ValueError(value)

    with barnabas.Producer(servers) as producer:
        producer.send(topic, b"bad")
    with pytest.raises(HandlerFailed, match="bad"):
        asyncio.run(app.serve())
    assert closed == [True]


@pytest.mark.parametrize(
    "option",
    [
        {"concurrency": 2},
        {"retry_topics": ["1s"]},
        {"dead_letters": "dead"},
        {"exactly_once": True},
    ],
)
def test_what_needs_a_group(option: dict[str, object]) -> None:
    (name,) = option
    with pytest.raises(InvalidArgument, match=f"{name} needs a group"):

        @App().handler("topic", group=None, **option)  # type: ignore[arg-type]
        async def handle(value: bytes) -> None: ...
