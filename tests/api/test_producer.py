"""The producer, in both faces: what is sent arrives, when it leaves, and where it goes."""

import asyncio
from collections.abc import Coroutine
from time import time
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas import Sent, TopicPartition
from barnabas.errors import InvalidArgument, UnknownTopic
from barnabas.records.murmur2 import partition_for_key
from tests.api.producers import FACES, Face, read
from tests.support.wait import LIMIT_S, wait_until, wait_until_async


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    chosen: Face = request.param
    return chosen


@pytest.fixture(scope="module")
def admin(bootstrap: str) -> Any:
    with barnabas.Admin(bootstrap) as admin:
        yield admin


def new_topic(admin: barnabas.Admin, partitions: int = 1, **configs: Any) -> str:
    name = f"p-{uuid4()}"
    named = {key.replace("_", "."): value for key, value in configs.items()}
    admin.create_topic(name, partitions=partitions, configs=named)
    return name


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


def test_a_record_arrives_with_all_its_parts(
    face: Face, bootstrap: str, admin: barnabas.Admin
) -> None:
    topic = new_topic(admin, 2)

    async def main() -> None:
        async with face(bootstrap) as producer:
            before_ms = int(time() * 1000)
            first = await producer.delivery(await producer.send(topic, b"value", partition=1))
            assert first[:3] == (topic, 1, 0)
            assert before_ms <= first.timestamp_ms <= int(time() * 1000)
            headers = [("a", b"1"), ("a", None), ("ü", b"")]
            sent = await producer.send(
                topic, b"", b"key", headers=headers, partition=1, timestamp_ms=123
            )
            assert await producer.delivery(sent) == (topic, 1, 1, 123)
            await producer.send(topic, None, key=b"", partition=1)

        plain, full, null = read(bootstrap, topic, 1)
        assert (plain.key(), plain.value(), plain.headers()) == (None, b"value", None)
        assert (full.key(), full.value(), full.headers()) == (b"key", b"", headers)
        assert full.timestamp()[1] == 123
        assert (null.key(), null.value()) == (b"", None)

    run(main())


def test_a_broker_may_stamp_records_itself(
    face: Face, bootstrap: str, admin: barnabas.Admin
) -> None:
    topic = new_topic(admin, message_timestamp_type="LogAppendTime")

    async def main() -> None:
        async with face(bootstrap) as producer:
            before_ms = int(time() * 1000)
            delivery = await producer.delivery(await producer.send(topic, b"x", timestamp_ms=5))
            assert delivery.timestamp_ms >= before_ms - 1_000
        assert read(bootstrap, topic)[0].timestamp()[1] == delivery.timestamp_ms

    run(main())


def test_records_keep_their_order_and_know_their_offsets(
    face: Face, bootstrap: str, admin: barnabas.Admin
) -> None:
    topic = new_topic(admin)

    async def main() -> None:
        async with face(bootstrap, batch_bytes=2_000, buffer_bytes=20_000) as producer:
            sent = [await producer.send(topic, b"%d" % number) for number in range(5_000)]
            await producer.flush()
            assert all(each.done() for each in sent)
            deliveries = [await producer.delivery(each) for each in sent]
        assert [each.offset for each in deliveries] == list(range(5_000))
        assert [m.value() for m in read(bootstrap, topic)] == [b"%d" % n for n in range(5_000)]

    run(main())


@pytest.mark.parametrize("acks", ["all", 1, 0])
def test_every_kind_of_acknowledgement(
    face: Face, bootstrap: str, admin: barnabas.Admin, acks: Any
) -> None:
    topic = new_topic(admin)

    async def main() -> None:
        async with face(bootstrap, acks=acks) as producer:
            sent = [await producer.send(topic, b"%d" % number) for number in range(100)]
            offsets = [(await producer.delivery(each)).offset for each in sent]
        assert offsets == ([-1] * 100 if acks == 0 else list(range(100)))
        assert len(read(bootstrap, topic)) == 100

    run(main())


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_compression(bootstrap: str, admin: barnabas.Admin, compression: Any) -> None:
    topic = new_topic(admin)
    with barnabas.Producer(bootstrap, compression=compression) as producer:
        for number in range(1_000):
            producer.send(topic, b"value %d" % number)
    assert [m.value() for m in read(bootstrap, topic)] == [b"value %d" % n for n in range(1_000)]


def test_waiting_ends_lingering_but_only_where_somebody_waits(
    face: Face, bootstrap: str, admin: barnabas.Admin
) -> None:
    topic = new_topic(admin, 2)

    async def main() -> None:
        producer = face(bootstrap, linger_ms=600_000)
        patient = await producer.send(topic, b"patient", partition=0)
        wanted = await producer.send(topic, b"wanted", partition=1)
        assert (await producer.delivery(wanted)).offset == 0
        assert not patient.done()
        assert read(bootstrap, topic, 0) == []
        await producer.close()
        assert patient.done()

    run(main())


@pytest.mark.parametrize("limit", [{"batch_records": 10}, {"batch_bytes": 10 * 1_000}])
def test_a_batch_that_is_full_does_not_linger(
    face: Face, bootstrap: str, admin: barnabas.Admin, limit: dict[str, int]
) -> None:
    topic = new_topic(admin)

    async def main() -> None:
        async with face(bootstrap, linger_ms=60_000, **limit) as producer:
            sent = [await producer.send(topic, bytes(950)) for _ in range(11)]
            await wait_until_async(sent[9].done)
            assert not sent[10].done()
            assert sent[9].batch is not sent[10].batch

    run(main())


def test_flush_waits_as_long_as_it_may(face: Face, bootstrap: str, admin: barnabas.Admin) -> None:
    topic = new_topic(admin)

    async def main() -> None:
        async with face(bootstrap, linger_ms=60_000) as producer:
            await producer.flush()
            sent = await producer.send(topic, b"x")
            with pytest.raises(TimeoutError, match="still being tried"):
                await producer.flush(timeout_s=0)
            await producer.flush(timeout_s=LIMIT_S)
            assert sent.done()

    run(main())


def test_keys_rule_and_records_without_one_are_spread(
    face: Face, bootstrap: str, admin: barnabas.Admin
) -> None:
    topic = new_topic(admin, 3)

    async def main() -> None:
        async with face(bootstrap, batch_bytes=1_000) as producer:
            keys = [b"key-%d" % number for number in range(100)]
            keyed = [await producer.send(topic, b"", key) for key in keys for _ in range(3)]
            places = [(await producer.delivery(each)).partition for each in keyed]
            assert places == [partition_for_key(key, 3) for key in keys for _ in range(3)]
            assert set(places) == {0, 1, 2}
            keyless = [await producer.send(topic, bytes(100)) for _ in range(300)]
            places = [(await producer.delivery(each)).partition for each in keyless]
            assert all(places.count(partition) > 50 for partition in range(3))

    run(main())


def test_the_application_may_choose_partitions_itself(
    face: Face, bootstrap: str, admin: barnabas.Admin
) -> None:
    topic = new_topic(admin, 3)
    asked: list[tuple[Any, ...]] = []

    def choose(topic: str, key: bytes | None, value: bytes | None, partitions: int) -> int:
        asked.append((topic, key, value, partitions))
        return int(value or b"0")

    async def main() -> None:
        async with face(bootstrap, partitioner=choose, value_format="str") as producer:
            for value, key in (("2", None), ("0", b"k"), ("2", b"k")):
                sent = await producer.send(topic, value, key)
                assert (await producer.delivery(sent)).partition == int(value)
            sent = await producer.send(topic, "2", partition=1)
            assert (await producer.delivery(sent)).partition == 1
            with pytest.raises(InvalidArgument, match=r"partition 3: .* has 3"):
                await producer.send(topic, "3")
        assert asked == [
            (topic, k, v, 3) for v, k in ((b"2", None), (b"0", b"k"), (b"2", b"k"), (b"3", None))
        ]

    run(main())


def test_partitions_that_are_added_are_used(bootstrap: str, admin: barnabas.Admin) -> None:
    topic = new_topic(admin)
    with barnabas.Producer(bootstrap) as producer:
        assert producer.send(topic, b"").result(LIMIT_S).partition == 0
        admin.add_partitions(topic, 2)
        assert producer.send(topic, b"", partition=1).result(LIMIT_S).partition == 1
        admin.add_partitions(topic, 3)
        refreshing = producer._producer._sender
        refreshing._refresh_at = 0.0
        refreshing._accumulator.wake()
        wait_until(lambda: len(producer._producer.routes[topic].adds) >= 3)


def test_keys_and_values_in_other_formats(
    face: Face, bootstrap: str, admin: barnabas.Admin
) -> None:
    topic = new_topic(admin)

    async def main() -> None:
        async with face(bootstrap, key_format="int", value_format="json") as producer:
            await producer.send(topic, {"a": [1]}, 7)
            await producer.send(topic, None)
            with pytest.raises(TypeError, match="key_format"):
                await producer.send(topic, None, "seven")
            with pytest.raises(TypeError, match="value_format"):
                await producer.send(topic, b"bytes")
        first, second = read(bootstrap, topic)
        assert (first.key(), first.value()) == ((7).to_bytes(8, "big"), b'{"a":[1]}')
        assert (second.key(), second.value()) == (None, None)

    run(main())


def test_unusual_bytes_are_bytes(face: Face, bootstrap: str, admin: barnabas.Admin) -> None:
    class Name(bytes):
        pass

    topic = new_topic(admin)

    async def main() -> None:
        async with face(bootstrap) as producer:
            headers = (["h", bytearray(b"3")],)
            await producer.send(topic, bytearray(b"1"), Name(b"2"), headers=headers)
            await producer.send(topic, memoryview(b"123")[1:], timestamp_ms=True)
        first, second = read(bootstrap, topic)
        assert (first.value(), first.key(), first.headers()) == (b"1", b"2", [("h", b"3")])
        assert (second.value(), second.timestamp()[1]) == (b"23", 1)

    run(main())


def test_what_cannot_be_right_is_refused_at_once(
    face: Face, bootstrap: str, admin: barnabas.Admin
) -> None:
    topic = new_topic(admin, 2)

    async def main() -> None:
        for options in (
            {"acks": 2},
            {"acks": -1},
            {"compression": "zip"},
            {"acks": 1, "idempotent": True},
            {"acks": 1, "transactional_id": "x"},
            {"idempotent": False, "transactional_id": "x"},
            {"batch_records": 0},
            {"linger_ms": -1},
            {"buffer_bytes": 0},
            {"request_timeout_ms": 0},
            {"transactional_id": ""},
            {"value_format": "yaml"},
        ):
            with pytest.raises(InvalidArgument, match=next(iter(options))):
                face(bootstrap, **options)
        async with face(bootstrap) as producer:
            with pytest.raises(UnknownTopic, match="nowhere"):
                await producer.send("nowhere", b"")
            with pytest.raises(TypeError, match="a topic is a str"):
                await producer.send(3, b"")
            with pytest.raises(InvalidArgument, match="has 2"):
                await producer.send(topic, b"", partition=2)
            with pytest.raises(InvalidArgument, match="not a time"):
                await producer.send(topic, b"", timestamp_ms=-1)
            with pytest.raises(TypeError, match="value_format"):
                await producer.send(topic, "text")
            with pytest.raises(TypeError, match="key_format"):
                await producer.send(topic, b"", "text")
            with pytest.raises(TypeError, match="header"):
                await producer.send(topic, b"", headers=[("name", "text")])
            with pytest.raises(TypeError, match="not a dict"):
                await producer.send(topic, b"", headers={"name": b"value"})
            with pytest.raises(TypeError, match="not str"):
                await producer.send(topic, b"", headers="name")
            with pytest.raises(InvalidArgument, match="transactional_id"):
                producer.transaction()
            with pytest.raises(InvalidArgument, match="timeout_s=-1"):
                await producer.flush(-1)
            with pytest.raises(TypeError, match="timeout_s is a number"):
                await producer.flush("1")
            sent = await producer.send(topic, b"still fine", partition=0)
            assert (await producer.delivery(sent)).offset == 0

    run(main())


def test_a_sent_record_says_how_it_stands(bootstrap: str, admin: barnabas.Admin) -> None:
    topic = new_topic(admin)
    with barnabas.Producer(bootstrap, linger_ms=60_000) as producer:
        sent = producer.send(topic, b"x")
        assert isinstance(sent, Sent)
        assert not sent.done()
        assert repr(sent) == f"<Sent to {topic}-0, on its way>"
        assert sent.result(LIMIT_S) == (topic, 0, 0, sent.timestamp_ms)
        assert repr(sent) == f"<Sent to {topic}-0, at offset 0>"
        assert sent.exception() is None
        assert sent.batch.partition == TopicPartition(topic, 0)
