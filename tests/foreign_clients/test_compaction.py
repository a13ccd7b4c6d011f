"""Compacted topics as client libraries read them: emptied batches, gaps, markers that are gone."""

import time
from collections.abc import Iterator

import pytest

from tests.foreign_clients.confluent import Confluent
from tests.foreign_clients.conftest import CLIENTS
from tests.foreign_clients.face import Client, Producer
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

END = b"the end"
KEYS = 5


@pytest.fixture(scope="module")
def cleaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that compacts whatever it has, at once."""
    settings = {"log.cleaner.backoff.ms": "100", "log.segment.delete.delay.ms": "0"}
    with BrokerProcess(tmp_path_factory.mktemp("cleaning"), settings) as broker:
        yield broker
        broker.stop()
        assert "Traceback" not in broker.log.read_text(), broker.log_tail()


def create(broker: BrokerProcess, topic: str, **configs: str) -> None:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    with Confluent().admin(broker.bootstrap) as admin:
        admin.create_topic(topic, 1, {"cleanup.policy": "compact", **named})


def size(broker: BrokerProcess, topic: str) -> int:
    return sum(path.stat().st_size for path in (broker.data / f"{topic}-0").glob("*.log"))


def write(producer: Producer, topic: str, number: int) -> None:
    key = b"%d" % (number % KEYS)
    producer.send(topic, b"%d" % number * 50, key=key, timestamp_ms=_long_ago())


def _long_ago() -> int:
    return int(time.time() * 1000) - 60_000


def read(client: Client, bootstrap: str, topic: str, isolation: str) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    deadline = time.monotonic() + 60
    with client.consumer(bootstrap, isolation=isolation) as consumer:
        consumer.assign(topic, {0: 0})
        while True:
            for record in consumer.poll():
                if record.value == END:
                    return found
                found.append((record.key or b"", record.value or b""))
            assert time.monotonic() < deadline, f"{client.name} has read only {found}"


def compacted_to(broker: BrokerProcess, topic: str, most_bytes: int) -> None:
    wait_until(lambda: size(broker, topic) <= most_bytes, f"{topic} is not compacted")


def finished(broker: BrokerProcess, topic: str) -> None:
    with Confluent().producer(broker.bootstrap) as producer:
        producer.send(topic, END, key=END)
        assert all(outcome.error is None for outcome in producer.flush())


def test_every_library_finds_the_last_of_every_key(cleaning: BrokerProcess, name: str) -> None:
    create(cleaning, name, segment_bytes="2000", max_compaction_lag_ms="1000")
    with Confluent().producer(cleaning.bootstrap) as producer:
        for number in range(100):
            write(producer, name, number)
            if number % 7 == 0:
                assert all(outcome.error is None for outcome in producer.flush())
        producer.flush()
    finished(cleaning, name)
    expected = [(b"%d" % (number % KEYS), b"%d" % number * 50) for number in range(95, 100)]
    wait_until(
        lambda: read(Confluent(), cleaning.bootstrap, name, "read_uncommitted") == expected,
        f"{name} is not compacted",
    )
    for client in CLIENTS:
        assert read(client, cleaning.bootstrap, name, "read_uncommitted") == expected


def test_transactions_of_which_little_is_left(cleaning: BrokerProcess, name: str) -> None:
    """Aborted ones go without a trace, and the markers of all when their time is over."""
    create(
        cleaning,
        name,
        segment_bytes="2000",
        max_compaction_lag_ms="1000",
        delete_retention_ms="100",
    )
    last: dict[bytes, bytes] = {}
    producer = Confluent().producer(cleaning.bootstrap, transactional_id=name)
    with producer:
        for transaction in range(16):
            producer.begin()
            ends_well = transaction % 3 != 0
            for number in range(transaction * 4, transaction * 4 + 4):
                write(producer, name, number)
                if ends_well:
                    last[b"%d" % (number % KEYS)] = b"%d" % number * 50
            assert all(outcome.error is None for outcome in producer.flush())
            if ends_well:
                producer.commit()
            else:
                producer.abort()
        compacted_to(cleaning, name, 2500)
        producer.begin()
        write(producer, name, 1000)
        producer.commit()
        last[b"0"] = b"1000" * 50
        finished(cleaning, name)
        for client in CLIENTS:
            found = read(client, cleaning.bootstrap, name, "read_committed")
            assert dict(found) == last, client.name


def test_a_producer_goes_on_where_it_was(cleaning: BrokerProcess, name: str) -> None:
    """Its last batch is superseded and compacted away, and then the broker dies."""
    create(cleaning, name, max_compaction_lag_ms="1000")
    with (
        Confluent().producer(cleaning.bootstrap, idempotent=True) as producer,
        Confluent().producer(cleaning.bootstrap) as other,
    ):
        for number in range(6):
            producer.send(name, b"%d" % number * 500, key=b"key", timestamp_ms=_long_ago())
            assert [outcome.error for outcome in producer.flush()] == [None]
        other.send(name, b"newer", key=b"key", timestamp_ms=_long_ago())
        assert [outcome.error for outcome in other.flush()] == [None]
        compacted_to(cleaning, name, 500)
        cleaning.restart(kill=True)
        producer.send(name, b"more", key=b"another")
        assert [outcome.error for outcome in producer.flush()] == [None]
        finished(cleaning, name)
    for client in CLIENTS:
        assert read(client, cleaning.bootstrap, name, "read_committed") == [
            (b"key", b"newer"),
            (b"another", b"more"),
        ]
