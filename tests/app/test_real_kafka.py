"""An application against a real Kafka: groups, retry topics, dead letters, transactions, shares."""

import asyncio
from collections import Counter

import pytest

import barnabas
from barnabas import App
from benchmarks import kafka_process

COUNT = 200
BAD = {7, 107}


@pytest.mark.skipif(
    not kafka_process.is_available(), reason="set BARNABAS_KAFKA_JARS to test with a real Kafka"
)
def test_all_kinds_of_handlers() -> None:
    with kafka_process.kafka({}, {}) as broker:
        servers = broker.bootstrap
        results: dict[str, Counter[int]] = {}
        letters: dict[str, Counter[int]] = {}
        with barnabas.Admin(servers) as admin:
            admin.create_topic("orders", partitions=4)
            for kind in KINDS:
                admin.create_topic(f"{kind}-out")
        with barnabas.Producer(servers) as producer:
            for number in range(COUNT):
                producer.send("orders", b"%d" % number, key=b"k%d" % (number % 7))
        app = App(servers)
        for kind in KINDS:
            add(app, kind)
        topics = [f"{kind}-{end}" for kind in KINDS for end in ("out", "dead")]

        async def run() -> None:
            async with (
                app.started() as running,
                barnabas.aio.Consumer(servers, topics) as consumer,
            ):
                while not all(
                    len(results.get(kind, ())) + len(letters.get(kind, ())) == COUNT
                    for kind in KINDS
                ):
                    if (failure := running.failure()) is not None:
                        raise failure
                    for each in await consumer.poll(0.2):
                        kind, _, end = each.topic.rpartition("-")
                        seen = results if end == "out" else letters
                        seen.setdefault(kind, Counter())[int(each.value)] += 1

        asyncio.run(asyncio.wait_for(run(), 120))
    for kind in KINDS:
        assert set(letters[kind]) == BAD, kind
        assert set(results[kind]) == set(range(COUNT)) - BAD, kind
    assert max(results["once"].values()) == 1


KINDS = {
    "ordered": {"retries": 1, "backoff": "1ms"},
    "beside": {"concurrency": 8, "retry_topics": ["100ms"]},
    "once": {"exactly_once": True, "retries": 1, "backoff": "1ms", "concurrency": 4},
    "share": {"share": True, "concurrency": 4, "retries": 2, "backoff": "1ms"},
}


def add(app: App, kind: str) -> None:
    async def handle(number: str) -> str:
        if int(number) in BAD:
            raise ValueError("bad")
        return number

    app.handler(
        "orders",
        group=f"g-{kind}",
        name=kind,
        produces=f"{kind}-out",
        dead_letters=f"{kind}-dead",
        **KINDS[kind],  # type: ignore[arg-type]
    )(handle)
