"""Clients of both faces, those of confluent-kafka, and a table to move between them."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pyarrow as pa

import barnabas
import barnabas.aio
from barnabas.records.columns import schema
from tests.api.faces import Waited
from tests.support.wait import LIMIT_S

PARTITIONS = 4
NOW_MS = 1_700_000_000_000

MakeTopic = Callable[..., str]


class Clients:
    """Either face, as blocking calls; the one for asyncio if there is a loop."""

    def __init__(self, bootstrap: str, loop: asyncio.AbstractEventLoop | None) -> None:
        self._bootstrap = bootstrap
        self._loop = loop

    def producer(self, **settings: Any) -> Any:
        if self._loop is None:
            return barnabas.Producer(self._bootstrap, **settings)
        return Waited(barnabas.aio.Producer(self._bootstrap, **settings), self._loop)

    def consumer(self, *topics: str, **settings: Any) -> Any:
        if self._loop is None:
            return barnabas.Consumer(self._bootstrap, topics, **settings)
        return Waited(barnabas.aio.Consumer(self._bootstrap, topics, **settings), self._loop)

    def transaction(self, producer: Any) -> Any:
        """To be used as a context manager."""
        transaction = producer.transaction()
        return transaction if self._loop is None else Waited(transaction, self._loop)


def read_with_confluent(bootstrap: str, topic: str, count: int) -> dict[int, list[Any]]:
    """The records of each partition: key, value, headers, timestamp."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
    found: dict[int, list[Any]] = defaultdict(list)
    deadline = time.monotonic() + 60
    while count and time.monotonic() < deadline:
        for message in consumer.consume(count, 0.5):
            assert message.error() is None
            record = (message.key(), message.value(), message.headers(), message.timestamp()[1])
            found[message.partition()].append(record)
            count -= 1
    consumer.close()
    assert not count
    return found


def all_of(found: dict[int, list[Any]]) -> list[Any]:
    return [row for rows in found.values() for row in rows]


def write_with_confluent(bootstrap: str, topic: str, rows: list[Any]) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2"})
    for key, value, headers, timestamp in rows:
        producer.produce(topic, value, key, headers=headers, timestamp=timestamp)
    producer.flush(LIMIT_S)


def poll_tables(consumer: Any, count: int, **named: Any) -> pa.Table:
    """So many rows; more come only if they come at once."""
    tables: list[pa.Table] = []
    deadline = time.monotonic() + 60
    while sum(map(len, tables)) < count and time.monotonic() < deadline:
        tables.append(consumer.poll_table(**named))
    table = pa.concat_tables(tables)
    assert table.num_rows == count
    return table


KEYS = [None if i % 7 == 0 else b"key-%d" % (i % 40) for i in range(500)]
VALUES = [None if i % 11 == 0 else b"value %d" % i for i in range(500)]
HEADERS = [[("n", b"%d" % i), ("null", None)] if i % 3 == 0 else [] for i in range(500)]
TIMES = [NOW_MS + i for i in range(500)]
TABLE = pa.table(
    {
        "key": pa.array(KEYS, pa.binary()),
        "value": pa.array(VALUES, pa.binary()),
        "headers": pa.array(
            [[{"key": k, "value": v} for k, v in each] for each in HEADERS],
            pa.list_(schema.HEADER_TYPE),
        ),
        "timestamp": pa.array(TIMES, pa.timestamp("ms", tz="UTC")),
    }
)
ROWS = [
    (key, value, headers or None, timestamp)
    for key, value, headers, timestamp in zip(KEYS, VALUES, HEADERS, TIMES, strict=True)
]
