"""A result that can't be sent is a failure of its record: retried, and a dead letter at last.

Brokers refuse a whole batch because of one record, and a transaction is rolled back because of one
batch. The results of other records are sent all the same, each once in a transaction.
"""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas import App

COUNT = 30
BAD = {7, 19}


def make(app: App, topic: str, *, takes: str, **options: Any) -> list[int]:
    """A handler whose results for `BAD` are too large for their topic."""
    attempts: list[int] = []

    def result_of(number: str) -> str:
        attempts.append(int(number))
        return number.ljust(5_000 if int(number) in BAD else 10)

    def plain(number: str) -> str:
        return result_of(number)

    async def coroutine(number: str) -> str:
        return result_of(number)

    async def batch(numbers: list[str]) -> list[str]:
        return [result_of(each) for each in numbers]

    functions: dict[str, Any] = {"plain": plain, "coroutine": coroutine, "batch": batch}
    app.handler(
        topic,
        group=f"g-{topic}",
        name="handle",
        retries=1,
        backoff="1ms",
        produces=f"{topic}-out",
        dead_letters=f"{topic}-dead",
        **options,
    )(functions[takes])
    return attempts


@pytest.mark.parametrize(
    ("takes", "options"),
    [
        ("plain", {}),
        ("coroutine", {"concurrency": 4}),
        ("batch", {}),
        ("coroutine", {"exactly_once": True, "concurrency": 4}),
        ("batch", {"exactly_once": True}),
    ],
    ids=["in order", "side by side", "batch", "transaction", "batch in a transaction"],
)
def test_a_result_that_is_too_large_becomes_a_dead_letter(
    app_broker: barnabas.Cluster, topic: str, takes: str, options: dict[str, Any]
) -> None:
    servers = app_broker.bootstrap_servers
    app_broker.create_topic(f"{topic}-out", configs={"max.message.bytes": 1_000})
    with barnabas.Producer(servers, value=str) as producer:
        for number in range(COUNT):
            producer.send(topic, str(number), key=b"k%d" % (number % 5), partition=number % 2)
    app = App(servers)
    attempts = make(app, topic, takes=takes, **options)
    results: list[int] = []
    letters: list[tuple[int, str]] = []

    async def run() -> None:
        async with (
            app.started() as running,
            barnabas.aio.Consumer(servers, [f"{topic}-out", f"{topic}-dead"]) as consumer,
        ):
            while len(set(results)) + len(letters) < COUNT:
                if (failure := running.failure()) is not None:
                    raise failure
                for each in await consumer.poll(0.2):
                    if each.topic.endswith("dead"):
                        reason = dict(each.headers)["dead-letter.reason"]
                        letters.append((int(each.value), (reason or b"").decode()))
                    else:
                        results.append(int(each.value))

    asyncio.run(run())
    assert {number for number, _ in letters} == BAD
    assert len(letters) == len(BAD)
    assert all("RefusedAsTooLarge" in reason for _, reason in letters)
    assert set(results) == set(range(COUNT)) - BAD
    if options.get("exactly_once"):
        assert len(results) == len(set(results))
    if takes != "batch" and not options.get("exactly_once"):
        assert [attempts.count(each) for each in sorted(BAD)] == [2, 2]
        assert app.handlers["handle"].statistics.retried == len(BAD)


def test_a_stop_while_a_result_is_sent_again_keeps_what_is_done(
    app_broker: barnabas.Cluster, topic: str
) -> None:
    servers = app_broker.bootstrap_servers
    app_broker.create_topic(f"{topic}-out", configs={"max.message.bytes": 1_000})
    with barnabas.Producer(servers, value=str) as producer:
        for number in range(COUNT):
            producer.send(topic, str(number), partition=0)

    async def run() -> tuple[list[int], list[int]]:
        app = App(servers)
        attempts: list[int] = []

        @app.handler(topic, group=f"g-{topic}", retries=1, backoff="1h", produces=f"{topic}-out")
        def handle(number: str) -> str:
            attempts.append(int(number))
            return number.ljust(5_000 if int(number) in BAD else 10)

        async with app.started() as running:
            while app.handlers["handle"].statistics.failed == 0:
                if (failure := running.failure()) is not None:
                    raise failure
                await asyncio.sleep(0.05)
        return attempts, [app.handlers["handle"].statistics.handled]

    first, handled = asyncio.run(run())
    assert first == list(range(COUNT))
    assert handled == [min(BAD)]
    again, _ = asyncio.run(run())
    assert again[0] == min(BAD)


def test_a_record_as_large_as_allowed_fits_among_the_dead_letters(
    app_broker: barnabas.Cluster,
) -> None:
    servers, topic = app_broker.bootstrap_servers, f"large-{uuid4().hex[:8]}"
    app_broker.create_topic(topic, configs={"max.message.bytes": 20_000})
    with barnabas.Producer(servers) as producer:
        producer.send(topic, b"x" * 19_900)
    app = App(servers)

    @app.handler(topic, group=f"g-{topic}", retry_topics=["1ms"], dead_letters=f"{topic}-dead")
    async def handle(value: bytes) -> None:
        raise ValueError("y" * 900)

    async def run() -> int:
        async with (
            app.started() as running,
            barnabas.aio.Consumer(servers, f"{topic}-dead") as consumer,
        ):
            while not (found := await consumer.poll(0.2)):
                if (failure := running.failure()) is not None:
                    raise failure
            return len(found[0].value)

    assert asyncio.run(run()) == 19_900
