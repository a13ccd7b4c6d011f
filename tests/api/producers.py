"""The producer's two faces behind one, for tests that hold of both."""

from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

import confluent_kafka

import barnabas
from barnabas import Delivery, Sent
from tests.support.wait import LIMIT_S


class Blocking:
    """`barnabas.Producer`, with an `await` that never waits."""

    name = "sync"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.producer = barnabas.Producer(*arguments, **options)

    async def send(self, *arguments: Any, **options: Any) -> Sent:
        return self.producer.send(*arguments, **options)

    async def flush(self, timeout_s: float | None = None) -> None:
        self.producer.flush(timeout_s)

    async def close(self) -> None:
        self.producer.close()

    async def delivery(self, sent: Sent) -> Delivery:
        return sent.result(LIMIT_S)

    def transaction(self, consumer: Any = None) -> "AbstractAsyncContextManager[Any]":
        return _BlockingTransaction(self.producer.transaction(consumer))

    async def __aenter__(self) -> Self:
        self.producer.__enter__()
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.producer.__exit__(error_type, error, traceback)


class _BlockingTransaction:
    def __init__(self, transaction: Any) -> None:
        self._transaction = transaction

    async def __aenter__(self) -> Self:
        self._transaction.__enter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._transaction.__exit__(*error)

    async def roll_back(self) -> None:
        self._transaction.roll_back()


class Asyncio(barnabas.aio.Producer):
    """`barnabas.aio.Producer`."""

    name = "aio"

    async def delivery(self, sent: Sent) -> Delivery:
        return await sent


Face = type[Blocking] | type[Asyncio]
FACES: list[Face] = [Blocking, Asyncio]


def read(bootstrap: str, topic: str, partition: int = 0) -> list[confluent_kafka.Message]:
    """All committed records that a partition has, as another library sees them."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unknown",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    found = []
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0)])
        while True:
            message = consumer.poll(60)
            assert message is not None, "neither records nor the end"
            if message.error() is not None:
                assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
                return found
            found.append(message)
    finally:
        consumer.close()
