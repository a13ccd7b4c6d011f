"""Where a consumer reads: seek, bounds, offsets by time, and what happens outside the log."""

import pytest

from tests.foreign_clients.conftest import NewTopic
from tests.foreign_clients.face import Client

COUNT = 300
BEGIN_MS = 1_700_000_000_000


@pytest.fixture
def topic(client: Client, bootstrap: str, new_topic: NewTopic) -> str:
    """300 records, ten milliseconds apart, in several batches."""
    created = new_topic()
    with client.producer(bootstrap) as producer:
        for begin in range(0, COUNT, 60):
            for i in range(begin, begin + 60):
                producer.send(created, b"%d" % i, partition=0, timestamp_ms=BEGIN_MS + i * 10)
            producer.flush()
    return created


def test_seek_forth_and_back(client: Client, bootstrap: str, topic: str) -> None:
    with client.consumer(bootstrap) as consumer:
        consumer.assign(topic, {0: 0})
        assert consumer.poll(60)[0].offset == 0
        for offset in (250, 0, 119, 120, 299, 60):
            consumer.seek(topic, 0, offset)
            records = consumer.poll(60)
            assert (records[0].offset, records[0].value) == (offset, b"%d" % offset)


def test_bounds(client: Client, bootstrap: str, topic: str) -> None:
    with client.consumer(bootstrap) as consumer:
        assert consumer.bounds(topic, 0) == (0, COUNT)


@pytest.mark.parametrize(
    ("after_ms", "offset"),
    [(0, 0), (-5000, 0), (1, 1), (10, 1), (1199, 120), (1200, 120), (2990, 299), (2991, None)],
)
def test_offset_for_time(
    client: Client, bootstrap: str, topic: str, after_ms: int, offset: int | None
) -> None:
    with client.consumer(bootstrap) as consumer:
        assert consumer.offset_for_time(topic, 0, BEGIN_MS + after_ms) == offset


def test_a_position_beyond_the_end_is_reset(client: Client, bootstrap: str, topic: str) -> None:
    with client.consumer(bootstrap, reset="earliest") as consumer:
        consumer.assign(topic, {0: COUNT + 1000})
        assert consumer.read(COUNT)[0].offset == 0


def test_reading_at_the_end_waits_for_more(client: Client, bootstrap: str, topic: str) -> None:
    with client.consumer(bootstrap) as consumer, client.producer(bootstrap) as producer:
        consumer.assign(topic, {0: COUNT})
        assert consumer.poll(0.3) == []
        producer.send(topic, b"more", partition=0)
        producer.flush()
        (record,) = consumer.read(1)
        assert (record.offset, record.value) == (COUNT, b"more")
