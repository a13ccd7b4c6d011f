"""Transactions in both faces: all of it is seen, or nothing; and each message is worked on once."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas.errors import (
    InvalidArgument,
    ProducerFenced,
    RecordTooLarge,
    TransactionAborted,
)
from tests.api.producers import FACES, Face, read
from tests.support.wait import LIMIT_S


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    chosen: Face = request.param
    return chosen


@pytest.fixture
def topic(bootstrap: str) -> str:
    return new_topic(bootstrap)


def new_topic(bootstrap: str) -> str:
    name = f"x-{uuid4()}"
    with barnabas.Admin(bootstrap) as admin:
        admin.create_topic(name, configs={"max.message.bytes": 5_000})
    return name


def values(bootstrap: str, topic: str) -> list[bytes]:
    return [message.value() for message in read(bootstrap, topic)]


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


def test_a_block_is_seen_as_a_whole_or_never(face: Face, bootstrap: str, topic: str) -> None:
    async def main() -> None:
        # Records without a waiter linger, so they are still here when they are dropped.
        async with face(bootstrap, transactional_id=topic, linger_ms=60_000) as producer:
            async with producer.transaction():
                sent = [await producer.send(topic, b"kept %d" % number) for number in range(3)]
            assert [each.result().offset for each in sent] == [0, 1, 2]
            with suppress(KeyError):
                async with producer.transaction():
                    await producer.delivery(await producer.send(topic, b"arrives"))
                    dropped = await producer.send(topic, b"does not")
                    raise KeyError
            assert isinstance(dropped.exception(), TransactionAborted)
            async with producer.transaction() as transaction:
                await producer.send(topic, b"by hand")
                await transaction.roll_back()
                with pytest.raises(InvalidArgument, match="is ended"):
                    await producer.send(topic, b"too late")
            async with producer.transaction():
                pass
            async with producer.transaction():
                await producer.send(topic, b"last")
        assert values(bootstrap, topic) == [b"kept 0", b"kept 1", b"kept 2", b"last"]

    run(main())


def test_without_the_block_nothing_is_sent(face: Face, bootstrap: str, topic: str) -> None:
    async def main() -> None:
        async with face(bootstrap, transactional_id=topic) as producer:
            with pytest.raises(InvalidArgument, match="begin a transaction first"):
                await producer.send(topic, b"x")
            async with producer.transaction():
                with pytest.raises(InvalidArgument, match="another transaction is open"):
                    await producer.transaction().__aenter__()
            with pytest.raises(InvalidArgument, match="is ended"):
                await producer.send(topic, b"x")
        assert values(bootstrap, topic) == []

    run(main())


def test_what_cannot_be_delivered_rolls_back_and_the_next_one_goes_on(
    face: Face, bootstrap: str, topic: str
) -> None:
    async def main() -> None:
        async with face(bootstrap, transactional_id=topic) as producer:
            transaction = producer.transaction()
            await transaction.__aenter__()
            await producer.send(topic, b"in vain")
            await producer.send(topic, bytes(10_000))
            with pytest.raises(TransactionAborted) as caught:
                await transaction.__aexit__(None, None, None)
            assert isinstance(caught.value.__cause__, RecordTooLarge)
            async with producer.transaction():
                await producer.send(topic, b"fine")
        assert values(bootstrap, topic) == [b"fine"]

    run(main())


def test_a_producer_without_its_block_takes_the_id_over_when_it_begins(
    face: Face, bootstrap: str, topic: str
) -> None:
    async def main() -> None:
        first = face(bootstrap, transactional_id=topic)
        async with first.transaction():
            await first.send(topic, b"first")
        second = face(bootstrap, transactional_id=topic)
        async with second.transaction():
            await second.send(topic, b"second")
        with pytest.raises(ProducerFenced, match="another producer has taken it over"):
            async with first.transaction():
                await first.send(topic, b"zombie")
        await first.close()
        await second.close()
        assert values(bootstrap, topic) == [b"first", b"second"]

    run(main())


def test_closing_rolls_an_open_transaction_back(bootstrap: str, topic: str) -> None:
    producer = barnabas.Producer(bootstrap, transactional_id=topic)
    transaction = producer.transaction()
    transaction.__enter__()
    producer.send(topic, b"x").result(LIMIT_S)
    producer.close()
    with barnabas.Producer(bootstrap, transactional_id=topic) as other, other.transaction():
        other.send(topic, b"y")
    assert values(bootstrap, topic) == [b"y"]


COUNT = 60


def fill(bootstrap: str, topic: str) -> None:
    with barnabas.Producer(bootstrap, value_format="int") as producer:
        for number in range(COUNT):
            producer.send(topic, number)


def test_each_message_is_worked_on_exactly_once(bootstrap: str, topic: str) -> None:
    """Every other attempt fails after something was sent."""
    source = new_topic(bootstrap)
    fill(bootstrap, source)
    with (
        barnabas.Consumer(
            bootstrap, source, group=source, commit="manual", value_format="int"
        ) as consumer,
        barnabas.Producer(bootstrap, transactional_id=topic, value_format="int") as producer,
    ):
        done = attempts = 0
        while done < COUNT:
            with suppress(ZeroDivisionError), producer.transaction(consumer):
                messages = consumer.poll(60, max_records=10)
                for message in messages:
                    producer.send(topic, message.value)
                attempts += 1
                if attempts % 2:
                    producer.flush()
                    raise ZeroDivisionError
                done += len(messages)
        assert sum(consumer.committed().values()) == COUNT
    assert [int.from_bytes(value, "big") for value in values(bootstrap, topic)] == [*range(COUNT)]
    assert attempts >= 12


def test_each_message_is_worked_on_exactly_once_in_asyncio(bootstrap: str, topic: str) -> None:
    source = new_topic(bootstrap)
    fill(bootstrap, source)

    async def main() -> None:
        async with (
            barnabas.aio.Consumer(bootstrap, source, group=source, commit="manual") as consumer,
            barnabas.aio.Producer(bootstrap, transactional_id=topic) as producer,
        ):
            done = attempts = 0
            while done < COUNT:
                with suppress(ZeroDivisionError):
                    async with producer.transaction(consumer):
                        messages = await consumer.poll(60, max_records=10)
                        for message in messages:
                            await producer.send(topic, message.value)
                        attempts += 1
                        if attempts % 2:
                            raise ZeroDivisionError
                        done += len(messages)

    run(main())
    assert [int.from_bytes(value, "big") for value in values(bootstrap, topic)] == [*range(COUNT)]


def test_a_consumer_that_commits_by_itself_is_refused(bootstrap: str, topic: str) -> None:
    with (
        barnabas.Consumer(bootstrap, topic, group=topic) as consumer,
        barnabas.Producer(bootstrap, transactional_id=topic) as producer,
        pytest.raises(InvalidArgument, match='commit="manual"'),
    ):
        producer.transaction(consumer)
