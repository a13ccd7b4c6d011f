"""Errors of the producer, in both APIs: reported to the caller that waits, or else on close."""

import asyncio
import gc
import threading
import warnings
from collections.abc import Coroutine
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas import Sent
from barnabas.client.producer import batch_retries
from barnabas.errors import (
    BrokerUnreachable,
    ClientClosed,
    DeliveryFailed,
    DeliveryTimedOut,
    HostUnknown,
    NobodyListens,
    RecordTooLarge,
    UnknownTopic,
    WaitsForItself,
)
from tests.api.producers import FACES, Face, read
from tests.support.wait import LIMIT_S, wait_until_async


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    chosen: Face = request.param
    return chosen


@pytest.fixture
def topic(bootstrap: str) -> str:
    """A topic that takes records of about 1 kB."""
    name = f"f-{uuid4()}"
    with barnabas.Admin(bootstrap) as admin:
        admin.create_topic(name, partitions=2, configs={"max.message.bytes": 1_000})
    return name


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


def test_only_the_guilty_record_of_a_batch_fails(face: Face, bootstrap: str, topic: str) -> None:
    async def main() -> None:
        async with face(bootstrap) as producer:
            sent = [await producer.send(topic, b"%d" % n, partition=0) for n in range(100)]
            guilty = await producer.send(topic, bytes(2_000), partition=0)
            sent += [await producer.send(topic, b"%d" % n, partition=0) for n in range(100, 200)]
            assert (await producer.delivery(sent[-1])).offset == 199
            with pytest.raises(RecordTooLarge, match=r"max\.message\.bytes"):
                await producer.delivery(guilty)
            assert isinstance(guilty.exception(), RecordTooLarge)
            assert "given up" in repr(guilty)
            offsets = [(await producer.delivery(each)).offset for each in sent]
        assert offsets == list(range(200))
        assert [m.value() for m in read(bootstrap, topic)] == [b"%d" % n for n in range(200)]

    run(main())


def test_what_nobody_asked_for_is_raised_by_flush_once(
    face: Face, bootstrap: str, topic: str
) -> None:
    async def main() -> None:
        async with face(bootstrap) as producer:
            for _ in range(3):
                await producer.send(topic, bytes(2_000))
            fine = await producer.send(topic, b"fine")
            await producer.delivery(fine)
            with pytest.raises(DeliveryFailed, match="3 records were not delivered") as caught:
                await producer.flush()
            assert caught.value.count == 3
            assert isinstance(caught.value.first, RecordTooLarge)
            await producer.flush()

    run(main())


def test_what_nobody_asked_for_is_raised_at_the_end(face: Face, bootstrap: str, topic: str) -> None:
    async def main() -> None:
        with pytest.raises(DeliveryFailed, match="1 record was not delivered"):
            async with face(bootstrap) as producer:
                await producer.send(topic, bytes(2_000))
        producer = face(bootstrap)
        await producer.send(topic, bytes(2_000))
        with pytest.raises(DeliveryFailed):
            await producer.close()

    run(main())


def test_what_somebody_has_asked_for_is_not_raised_again(
    face: Face, bootstrap: str, topic: str
) -> None:
    async def main() -> None:
        heard: list[Sent] = []
        async with face(bootstrap) as producer:
            sent = await producer.send(topic, bytes(2_000))
            with pytest.raises(RecordTooLarge):
                await producer.delivery(sent)
            await producer.flush()
            (await producer.send(topic, bytes(2_000))).add_done_callback(heard.append)
            await producer.flush()
            sent = await producer.send(topic, bytes(2_000))
            await wait_until_async(sent.done)
            assert sent.exception() is not None
        assert len(heard) == 1

    run(main())


def test_an_exception_on_its_way_is_not_masked(face: Face, bootstrap: str, topic: str) -> None:
    async def main() -> None:
        async def work() -> None:
            async with face(bootstrap) as producer:
                await producer.send(topic, bytes(2_000))
                await producer.send(topic, b"arrives")
                raise KeyError("the application's own")

        with pytest.raises(KeyError) as caught:
            await work()
        assert "1 record was not delivered" in caught.value.__notes__[0]
        assert sum(len(read(bootstrap, topic, partition)) for partition in (0, 1)) == 1

    run(main())


def test_a_producer_that_is_closed_sends_no_more(face: Face, bootstrap: str, topic: str) -> None:
    async def main() -> None:
        producer = face(bootstrap)
        sent = await producer.send(topic, b"x")
        await producer.close()
        await producer.close()
        assert sent.result().offset == 0
        for _ in range(2):
            with pytest.raises(ClientClosed):
                await producer.send(topic, b"x")
        with pytest.raises(ClientClosed):
            await producer.flush()

    run(main())


def test_a_broker_that_is_not_there_is_said_when_the_block_begins(face: Face) -> None:
    async def main() -> None:
        with pytest.raises(BrokerUnreachable, match="localhost:1"):
            async with face("localhost:1"):
                raise AssertionError("not reached")
        producer = face("localhost:1")
        with pytest.raises(BrokerUnreachable):
            await producer.send("t", b"x")
        await producer.close()

    run(main())


@pytest.mark.parametrize(
    ("address", "error"), [("localhost:1", NobodyListens), ("no.such.host.invalid:1", HostUnknown)]
)
def test_what_cannot_be_entered_leaves_nothing_behind(
    face: Face, address: str, error: type[Exception]
) -> None:
    async def main() -> None:
        with pytest.raises(error, match=address):
            async with face([address]):
                raise AssertionError("not reached")

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run(main())
        gc.collect()
    assert not [each for each in seen if "was not closed" in str(each.message)]


def test_different_reasons_have_none_in_common(face: Face) -> None:
    async def main() -> None:
        with pytest.raises(BrokerUnreachable) as caught:
            async with face("localhost:1,no.such.host.invalid:1"):
                raise AssertionError("not reached")
        assert type(caught.value) is BrokerUnreachable

    run(main())


def test_a_topic_that_is_deleted_is_made_anew(face: Face) -> None:
    async def main() -> None:
        with (
            barnabas.Cluster(nodes=1) as cluster,
            barnabas.Admin(cluster.bootstrap_servers) as admin,
        ):
            async with face(cluster.bootstrap_servers) as producer:
                await producer.delivery(await producer.send("t", b"before"))
                admin.delete_topic("t")
                after = await producer.send("t", b"after")
                assert (await producer.delivery(after)).offset == 0
            assert [m.value() for m in read(cluster.bootstrap_servers, "t")] == [b"after"]

    run(main())


def test_a_topic_that_is_gone_is_not_waited_for_long(
    face: Face, bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_retries, "_GONE_S", 0.5)

    async def main() -> None:
        async with face(bootstrap, auto_create=False) as producer:
            await producer.delivery(await producer.send(topic, b"x"))
            with barnabas.Admin(bootstrap) as admin:
                admin.delete_topic(topic)
            started = monotonic()
            with pytest.raises(UnknownTopic, match="does not exist"):
                await producer.delivery(await producer.send(topic, b"y"))
            assert monotonic() - started >= 0.5

    run(main())


def test_a_broker_that_hangs_is_mentioned(face: Face, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        with barnabas.Cluster(nodes=1) as cluster:
            cluster.create_topic("t", partitions=1)
            async with face(cluster.bootstrap_servers) as producer:
                await producer.delivery(await producer.send("t", b"before"))
                cluster.pause(1)
                sent = await producer.send("t", b"after", partition=0)
                waiting = asyncio.ensure_future(asyncio.to_thread(sent.result, 60))
                await wait_until_async(
                    lambda: any("broker 1 does not answer" in each for each in caplog.messages)
                )
                cluster.resume(1)
                assert (await waiting).offset == 1

    run(main())


async def until_delivered(producer: Any, topic: str) -> barnabas.Delivery:
    """A short timeout for deliveries may be too short for a busy machine: then once more."""
    while True:
        try:
            return await producer.delivery(await producer.send(topic, b"x"))
        except DeliveryTimedOut:
            continue


def test_a_topic_that_is_deleted_is_noticed(face: Face, bootstrap: str, topic: str) -> None:
    async def main() -> None:
        async with face(bootstrap, delivery_timeout_ms=500, auto_create=False) as producer:
            await until_delivered(producer, topic)
            with barnabas.Admin(bootstrap) as admin:
                admin.delete_topic(topic)
            with pytest.raises(DeliveryTimedOut, match="does not exist"):
                await producer.delivery(await producer.send(topic, b"y"))
            with pytest.raises(UnknownTopic):
                await producer.send(topic, b"z")

    run(main())


def test_a_record_is_given_up_in_time_and_the_buffer_is_free_again(face: Face) -> None:
    async def main() -> None:
        with barnabas.Cluster(nodes=1) as cluster:
            cluster.create_topic("t", partitions=1)
            options = {
                "delivery_timeout_ms": 3_000,
                "buffer_bytes": 5_000,
                "request_timeout_ms": 500,
            }
            producer = face(cluster.bootstrap_servers, **options)
            await until_delivered(producer, "t")
            cluster.pause(1)
            started = monotonic()
            sent = [await producer.send("t", bytes(1_000)) for _ in range(12)]
            assert monotonic() - started > 0.5  # back-pressure, until something is given up
            with pytest.raises(DeliveryTimedOut, match="not delivered in 3000 ms"):
                await producer.delivery(sent[-1])
            cluster.resume(1)
            assert (await until_delivered(producer, "t")).offset > 0
            with pytest.raises(DeliveryFailed, match="not delivered"):
                await producer.close()

    run(main())


def test_callbacks_hear_and_must_not_wait(bootstrap: str, topic: str) -> None:
    heard: list[object] = []
    over = threading.Event()

    def callback(sent: Sent) -> None:
        heard.append(sent.result().offset)
        with pytest.raises(WaitsForItself):
            other.result()
        with pytest.raises(WaitsForItself):
            producer.flush()
        over.set()
        raise ValueError("which is only logged")

    with barnabas.Producer(bootstrap, linger_ms=60_000) as producer:
        other = producer.send(topic, b"other", partition=0)
        sent = producer.send(topic, b"x", partition=1)
        sent.add_done_callback(callback)
        assert sent.result(LIMIT_S).offset == 0
        assert over.wait(LIMIT_S)
        assert other.result(LIMIT_S).offset == 0
    assert heard == [0]
