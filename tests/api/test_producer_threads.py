"""One producer for many threads and tasks at once."""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas import Sent
from tests.api.producers import read
from tests.support.wait import LIMIT_S

THREADS = 4
EACH = 3_000


@pytest.fixture
def topic(bootstrap: str) -> str:
    name = f"m-{uuid4()}"
    with barnabas.Admin(bootstrap) as admin:
        admin.create_topic(name, partitions=2)
    return name


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


@pytest.mark.parametrize(
    "options",
    [
        {"batch_bytes": 3_000, "buffer_bytes": 10_000},
        {"batch_records": 7, "linger_ms": 0},
        {"compression": "lz4", "acks": 1},
    ],
)
def test_threads_keep_their_own_order_and_lose_nothing(
    bootstrap: str, topic: str, options: dict[str, Any]
) -> None:
    def work(thread: int) -> list[Sent]:
        values = (b"%d:%d" % (thread, number) for number in range(EACH))
        return [producer.send(topic, value, b"%d" % thread) for value in values]

    with barnabas.Producer(bootstrap, **options) as producer, ThreadPoolExecutor(THREADS) as pool:
        sent = list(pool.map(work, range(THREADS)))
        producer.flush()
        places = {(each.result().partition, each.result().offset) for one in sent for each in one}
        assert len(places) == THREADS * EACH
    found: defaultdict[bytes, list[int]] = defaultdict(list)
    for partition in (0, 1):
        for message in read(bootstrap, topic, partition):
            thread, number = message.value().split(b":")
            found[thread].append(int(number))
    assert found == {b"%d" % thread: list(range(EACH)) for thread in range(THREADS)}


def test_threads_that_wait_for_each_record(bootstrap: str, topic: str) -> None:
    def work(thread: int) -> list[int]:
        return [
            producer.send(topic, b"", partition=thread % 2).result(LIMIT_S).offset
            for _ in range(50)
        ]

    with barnabas.Producer(bootstrap) as producer, ThreadPoolExecutor(THREADS) as pool:
        offsets = list(pool.map(work, range(THREADS)))
    assert sorted(offsets[0] + offsets[2]) == sorted(offsets[1] + offsets[3]) == list(range(100))
    assert all(each == sorted(each) for each in offsets)


def test_a_flush_does_not_wait_for_what_others_send_later(bootstrap: str, topic: str) -> None:
    def send_on() -> int:
        count = 0
        while not stop:
            producer.send(topic, bytes(100))
            count += 1
        return count

    stop = False
    with barnabas.Producer(bootstrap, buffer_bytes=200_000) as producer:
        with ThreadPoolExecutor(2) as pool:
            busy = [pool.submit(send_on) for _ in range(2)]
            try:
                for _ in range(5):
                    sent = producer.send(topic, b"mine")
                    producer.flush(LIMIT_S)
                    assert sent.done()
            finally:
                stop = True
        assert all(each.result() > 0 for each in busy)


def test_a_task_that_is_cancelled_while_it_waits_for_room_sends_nothing(
    bootstrap: str, topic: str
) -> None:
    async def main() -> None:
        with barnabas.Cluster(nodes=1) as cluster:
            cluster.create_topic("t", partitions=1)
            async with barnabas.aio.Producer(
                cluster.bootstrap_servers, buffer_bytes=2_000
            ) as producer:
                await (await producer.send("t", b"first"))
                cluster.pause(1)
                await producer.send("t", bytes(1_500))
                waiting = [
                    asyncio.create_task(producer.send("t", b"%d" % number * 1_000))
                    for number in range(3)
                ]
                await asyncio.sleep(0.2)
                assert not any(each.done() for each in waiting)
                waiting[0].cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting[0]
                cluster.resume(1)
                for each in waiting[1:]:
                    await (await each)
            values = [m.value()[:1] for m in read(cluster.bootstrap_servers, "t")]
            assert values == [b"f", b"\0", b"1", b"2"]

    run(main())


def test_many_tasks_may_wait_for_one_record(bootstrap: str, topic: str) -> None:
    async def main() -> None:
        async def wait(sent: Sent) -> int:
            return (await sent).offset

        async with barnabas.aio.Producer(bootstrap, linger_ms=100) as producer:
            sent = await producer.send(topic, b"x")
            tasks = [asyncio.create_task(wait(sent)) for _ in range(10)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            assert await asyncio.gather(*tasks[1:]) == [0] * 9
            assert tasks[0].cancelled()

    run(main())


def test_other_tasks_go_on_while_one_sends_without_end(bootstrap: str, topic: str) -> None:
    async def main() -> None:
        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticks = 0
        other = asyncio.create_task(tick())
        async with barnabas.aio.Producer(bootstrap, batch_bytes=10_000) as producer:
            for _ in range(2_000):
                await producer.send(topic, bytes(100))
            assert ticks > 20
        other.cancel()

    run(main())
