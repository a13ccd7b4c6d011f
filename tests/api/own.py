"""Barnabas' own clients behind the face that the tests of other libraries have."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import barnabas
from barnabas import TopicPartition, errors
from tests.foreign_clients.face import (
    Admin,
    Client,
    Consumer,
    Delivery,
    Headers,
    NotOffered,
    Producer,
    Record,
)

_TIMEOUT_S = 60


class OwnProducer(Producer):
    def __init__(self, bootstrap: str, **config: Any) -> None:
        self._producer = barnabas.Producer(bootstrap, **config)
        self._sent: list[barnabas.Sent] = []
        self._transaction: AbstractContextManager[Any] | None = None

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
    ) -> None:
        self._sent.append(
            self._producer.send(
                topic,
                value,
                key,
                headers=headers,
                partition=partition,
                timestamp_ms=timestamp_ms,
            )
        )

    def flush(self) -> list[Delivery]:
        sent, self._sent = self._sent, []
        return [self._outcome(each) for each in sent]

    @staticmethod
    def _outcome(sent: barnabas.Sent) -> Delivery:
        try:
            done = sent.result(_TIMEOUT_S)
        except errors.BarnabasError as error:
            return Delivery(-1, -1, repr(error))
        return Delivery(done.partition, done.offset)

    def begin(self) -> None:
        self._transaction = self._producer.transaction()
        self._transaction.__enter__()

    def send_offsets(self, group: Any, topic: str, offsets: Mapping[int, int]) -> None:
        raise NotOffered("offsets of a foreign consumer")

    def commit(self) -> None:
        assert self._transaction is not None
        self._transaction.__exit__(None, None, None)
        self._sent = []

    def abort(self) -> None:
        assert self._transaction is not None
        reason = InterruptedError("rolled back by the test")
        self._transaction.__exit__(InterruptedError, reason, None)
        self._sent = []

    def close(self) -> None:
        self._producer.close()


class OwnConsumer(Consumer):
    """What is subscribed to is said at birth, so it is born when that is known."""

    def __init__(self, bootstrap: str, **config: Any) -> None:
        self._bootstrap = bootstrap
        self._config = config
        self._consumer: barnabas.Consumer | None = None

    @property
    def _born(self) -> barnabas.Consumer:
        if self._consumer is None:
            self._consumer = barnabas.Consumer(self._bootstrap, **self._config)
        return self._consumer

    def assign(self, topic: str, positions: Mapping[int, int]) -> None:
        self._born.assign({TopicPartition(topic, p): offset for p, offset in positions.items()})

    def subscribe(self, topics: Sequence[str]) -> None:
        self._config["topics"] = topics

    def poll(self, timeout_s: float = 0.2) -> list[Record]:
        return [
            Record(m.partition, m.offset, m.key, m.value, tuple(m.headers), m.timestamp_ms)
            for m in self._born.poll(timeout_s)
        ]

    def assigned(self) -> set[tuple[str, int]]:
        return set(self._born.assignment)

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self._born.seek(TopicPartition(topic, partition), offset)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        raise NotOffered("bounds by a consumer")

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        raise NotOffered("offsets by time by a consumer")

    def commit(self, topic: str, offsets: Mapping[int, int], metadata: str = "") -> None:
        self._born.commit({TopicPartition(topic, p): offset for p, offset in offsets.items()})

    def committed(self, topic: str, partition: int) -> int | None:
        name = TopicPartition(topic, partition)
        return self._born.committed([name]).get(name)

    def group_metadata(self) -> Any:
        raise NotOffered("membership")

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()


class Own(Client):
    name = "barnabas"

    def producer(
        self,
        bootstrap: str,
        *,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
        linger_ms: int = 5,
        max_bytes: int = 1_000_000,
        delivery_timeout_ms: int = 60_000,
        request_timeout_ms: int = 10_000,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
    ) -> Producer:
        return OwnProducer(
            bootstrap,
            acks=acks if acks == "all" else int(acks),
            compression=compression,
            linger_ms=linger_ms,
            batch_bytes=max_bytes,
            delivery_timeout_ms=delivery_timeout_ms,
            request_timeout_ms=request_timeout_ms,
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
        )

    def consumer(
        self,
        bootstrap: str,
        group: str | None = None,
        *,
        instance_id: str | None = None,
        strategy: str = "range",
        session_timeout_ms: int = 30_000,
        reset: str = "earliest",
        max_bytes: int = 1_000_000,
        isolation: str | None = None,
        request_timeout_ms: int = 30_000,
    ) -> Consumer:
        return OwnConsumer(
            bootstrap,
            group=group,
            start=reset,
            commit="auto" if group is None else "manual",
            isolation=isolation or "read_committed",
            instance_id=instance_id,
            session_timeout_ms=session_timeout_ms,
            assignors=(strategy,),
            partition_max_bytes=max_bytes,
        )

    def admin(self, bootstrap: str) -> Admin:
        raise NotOffered("this administration")
