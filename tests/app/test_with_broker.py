"""Applications against a real broker: order, commits, retries, results, stopping."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

import barnabas
from barnabas import App, Depends, Message, TopicPartition
from barnabas.app.cancelled import Cancelled
from tests.support.wait import wait_until_async

KEYS = 10
COUNT = 400


@dataclass
class Order:
    id: int


def fill(servers: str, topic: str, count: int = COUNT) -> None:
    with barnabas.Producer(servers, key=str, value=Order) as producer:
        for number in range(count):
            producer.send(topic, Order(number), key=f"k{number % KEYS}")


async def run_until(app: App, condition: Callable[[], Any]) -> None:
    def reached() -> Any:
        if app.failure is not None:
            raise app.failure
        return condition()

    async with app.started():
        await wait_until_async(reached)


def committed(servers: str, group: str) -> dict[TopicPartition, int]:
    with barnabas.Admin(servers) as admin:
        return admin.group_offsets(group)


def read(servers: str, topic: str, count: int) -> list[Message[bytes, bytes]]:
    found: list[Message[bytes, bytes]] = []
    with barnabas.Consumer(servers, topic) as consumer:
        while len(found) < count:
            found += consumer.poll(120)
    return found


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_each_key_is_handled_in_order_and_all_is_committed(
    servers: str, topic: str, concurrency: int, is_async: bool
) -> None:
    fill(servers, topic)
    app = App(servers)
    seen: defaultdict[str, list[int]] = defaultdict(list)

    def handle(order: Order, key: str) -> None:
        assert threading.current_thread() is not threading.main_thread()
        seen[key].append(order.id)

    async def handle_async(order: Order, key: str) -> None:
        if order.id % 7 == 0:
            await asyncio.sleep(0.001)
        seen[key].append(order.id)

    function = handle_async if is_async else handle
    app.handler(topic, group=f"g-{topic}", concurrency=concurrency, name="h")(function)
    asyncio.run(run_until(app, lambda: sum(map(len, seen.values())) >= COUNT))
    assert dict(seen) == {f"k{k}": list(range(k, COUNT, KEYS)) for k in range(KEYS)}
    assert sum(committed(servers, f"g-{topic}").values()) == COUNT
    assert app.handlers["h"].statistics.handled == COUNT


@pytest.mark.parametrize("exactly_once", [False, True])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_results_are_sent_with_their_keys(
    servers: str, topic: str, concurrency: int, exactly_once: bool
) -> None:
    fill(servers, topic, 100)
    out = f"{topic}-out"
    with barnabas.Admin(servers) as admin:
        admin.create_topic(out, partitions=4)
    app = App(servers)

    @app.handler(
        topic,
        group=f"g-{topic}",
        produces=out,
        concurrency=concurrency,
        exactly_once=exactly_once,
        dead_letters=f"{topic}-dead",
    )
    def handle(order: Order) -> Order:
        if order.id == 50:
            raise ValueError("poison")
        return Order(order.id + 1000)

    statistics = app.handlers["handle"].statistics
    asyncio.run(run_until(app, lambda: statistics.handled >= 100))
    found = read(servers, out, 99)
    by_key: defaultdict[bytes, list[int]] = defaultdict(list)
    for each in found:
        by_key[each.key].append(int(each.value.split(b":")[1].strip(b"}")))
    assert dict(by_key) == {
        b"k%d" % k: [1000 + n for n in range(k, 100, KEYS) if n != 50] for k in range(KEYS)
    }
    (letter,) = read(servers, f"{topic}-dead", 1)
    assert letter.value == b'{"id":50}'
    with barnabas.Admin(servers) as admin:
        assert admin.configs(topic=f"{topic}-dead")["retention.ms"].value == "-1"
    assert dict(letter.headers)["dead-letter.reason"] == b"ValueError: poison"
    if not exactly_once:
        assert sum(committed(servers, f"g-{topic}").values()) == 100


def test_topics_of_failed_records_are_as_safe_as_the_topic(servers: str, topic: str) -> None:
    with barnabas.Admin(servers) as admin:
        admin.set_configs({"min.insync.replicas": 1}, topic=topic)
    app, dead = App(servers), f"{topic}-dead"

    @app.handler(topic, group=f"g-{topic}", dead_letters=dead, retry_topics=["1s"])
    def handle(_value: bytes) -> None: ...

    asyncio.run(run_until(app, lambda: True))
    with barnabas.Admin(servers) as admin:
        for name in (dead, f"{topic}.retry.1s"):
            assert admin.configs(topic=name)["min.insync.replicas"].is_own


def test_a_slow_record_holds_back_the_commit_but_not_the_others(servers: str, topic: str) -> None:
    fill(servers, topic, 100)
    app = App(servers)
    seen: list[int] = []
    release = asyncio.Event()

    @app.handler(topic, group=f"g-{topic}", concurrency=8)
    async def handle(order: Order) -> None:
        if order.id == 0:
            await release.wait()
        seen.append(order.id)

    async def main() -> None:
        async with app.started():
            await wait_until_async(lambda: len(seen) == 90)  # all but those of its key
            assert not [each for each in seen if each % KEYS == 0]
            release.set()
            await wait_until_async(lambda: len(seen) == 100)

    asyncio.run(main())
    assert [each for each in seen if each % KEYS == 0] == list(range(0, 100, KEYS))
    assert sum(committed(servers, f"g-{topic}").values()) == 100


def test_stopping_finishes_what_is_in_hand_and_the_next_run_goes_on(
    servers: str, topic: str
) -> None:
    fill(servers, topic, 200)
    seen: list[int] = []
    app = App(servers)

    @app.handler(topic, group=f"g-{topic}", concurrency=4)
    async def handle(order: Order) -> None:
        await asyncio.sleep(0.01)
        seen.append(order.id)

    asyncio.run(run_until(app, lambda: len(seen) >= 20))
    assert len(seen) < 200
    assert sum(committed(servers, f"g-{topic}").values()) <= len(seen)
    asyncio.run(run_until(app, lambda: len(set(seen)) == 200))
    assert len(seen) == 200  # nothing that was done is repeated


def test_retry_topics(servers: str, topic: str) -> None:
    fill(servers, topic, 20)
    seen: list[int] = []
    app = App(servers)

    @app.handler(topic, group=f"g-{topic}", retry_topics=["200ms", "300ms"], dead_letters="d")
    async def handle(order: Order) -> None:
        seen.append(order.id)
        if order.id == 3 and seen.count(3) < 3:
            raise ConnectionError("no bank")

    asyncio.run(run_until(app, lambda: len(seen) == 22))
    assert seen.count(3) == 3
    assert sorted(set(seen)) == list(range(20))


def test_a_handler_is_paused_and_rewound(servers: str, topic: str) -> None:
    fill(servers, topic, 50)
    seen: list[int] = []
    app = App(servers)

    @app.handler(topic, group=f"g-{topic}")
    async def handle(order: Order) -> None:
        seen.append(order.id)

    async def main() -> None:
        async with app.started():
            await wait_until_async(lambda: len(seen) == 50)
            await app.pause("handle")
            await asyncio.to_thread(fill, servers, topic, 50)
            await asyncio.sleep(0.5)
            assert len(seen) == 50
            await app.resume("handle")
            await wait_until_async(lambda: len(seen) == 100)
            await app.rewind("handle")
            await wait_until_async(lambda: len(seen) == 200)

    asyncio.run(main())


def test_rebalances_repeat_nothing_that_was_done(servers: str, topic: str) -> None:
    fill(servers, topic, 300)
    seen: list[int] = []

    def worker() -> App:
        app = App(servers)

        @app.handler(topic, group=f"g-{topic}", concurrency=4)
        async def handle(order: Order) -> None:
            await asyncio.sleep(0.01)
            seen.append(order.id)

        return app

    async def main() -> None:
        async with worker().started():
            await wait_until_async(lambda: len(seen) >= 20)
            async with worker().started():
                await wait_until_async(lambda: len(seen) >= 150)
            await wait_until_async(lambda: len(set(seen)) == 300)

    asyncio.run(main())
    assert len(seen) == 300


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_plain_dependencies_do_not_hold_up_the_event_loop(
    servers: str, topic: str, is_async: bool
) -> None:
    app = App(servers)
    threads: dict[str, int] = {}

    def setting() -> int:
        threads["function"] = threading.get_ident()
        return 2

    def connection(of: Annotated[int, Depends(setting)]) -> Iterator[str]:
        threads["before"] = threading.get_ident()
        try:
            yield f"connection {of}"
        finally:
            threads["after"] = threading.get_ident()

    def pool() -> Iterator[str]:
        threads["opened"] = threading.get_ident()
        yield "pool"
        threads["closed"] = threading.get_ident()

    async def handle(
        order: Order,
        connection: Annotated[str, Depends(connection)],
        pool: Annotated[str, Depends(pool, scope="app")],
    ) -> None:
        threads[f"{connection}, {pool}"] = threading.get_ident()

    def handle_plainly(
        order: Order,
        connection: Annotated[str, Depends(connection)],
        pool: Annotated[str, Depends(pool, scope="app")],
    ) -> None:
        threads[f"{connection}, {pool}"] = threading.get_ident()

    app.handler(topic, group=f"g-{topic}")(handle if is_async else handle_plainly)
    fill(servers, topic, 1)
    asyncio.run(run_until(app, lambda: "after" in threads))
    here = threading.get_ident()  # of the event loop
    called = threads.pop("connection 2, pool")
    assert threads.keys() == {"function", "before", "after", "opened", "closed"}
    assert here not in threads.values()
    assert (called == here) is is_async
    if not is_async:  # what is opened in a thread can be used there
        assert {threads[each] for each in ("function", "before", "after")} == {called}


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_handler_that_awaits_what_was_cancelled_has_failed(
    servers: str, topic: str, concurrency: int
) -> None:
    fill(servers, topic, 20)
    app = App(servers)
    dead = f"{topic}.dead"
    seen: list[int] = []

    @app.handler(topic, group=f"g-{topic}", dead_letters=dead, concurrency=concurrency, retries=0)
    async def handle(order: Order) -> None:
        if order.id == 3:
            task = asyncio.ensure_future(asyncio.sleep(60))
            task.cancel()
            await task
        seen.append(order.id)

    asyncio.run(run_until(app, lambda: len(seen) == 19))
    (letter,) = read(servers, dead, 1)
    assert letter.value == b'{"id":3}'
    assert any(b"awaited something that was cancelled" in value for _, value in letter.headers)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_handler_that_cancels_its_own_task_ends_the_application_with_an_error(
    servers: str, topic: str, concurrency: int
) -> None:
    fill(servers, topic, 3)
    app = App(servers)

    @app.handler(topic, group=f"g-{topic}", concurrency=concurrency)
    async def handle(order: Order) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(60)

    noticed: list[BaseException] = []

    async def run_until_it_fails() -> None:
        async with app.started():
            noticed.append(await wait_until_async(lambda: app.failure))

    with pytest.raises(Cancelled):
        asyncio.run(run_until_it_fails())
    assert noticed, "it has to end by itself, not only when it is stopped"
