"""What was acknowledged is there: after kill -9, after a torn write, and with the disk full."""

import os
import resource
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import ELSEWHERE, MakeBroker
from tests.foreign_clients.confluent import Confluent
from tests.foreign_clients.face import Client, Delivery, Producer, Record
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S, wait_until

TOPIC = "stream"
PARTITIONS = 2


class Stream:
    """Sends numbered values from a thread, round by round, and keeps what became of each."""

    def __init__(self, producer: Producer) -> None:
        self.outcomes: list[tuple[int, Delivery]] = []
        self._producer = producer
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._ending.is_set():
            begin = number
            for _ in range(50):
                self._producer.send(TOPIC, b"%d" % number, partition=number % PARTITIONS)
                number += 1
            self.outcomes += zip(range(begin, number), self._producer.flush(), strict=True)

    def end(self) -> None:
        self._ending.set()
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()


def read_all(broker: BrokerProcess) -> dict[int, list[Record]]:
    """Every partition from its begin to its end, with a fresh consumer."""
    found: dict[int, list[Record]] = {}
    with Confluent().consumer(broker.bootstrap) as consumer:
        for partition in range(PARTITIONS):
            begin, end = consumer.bounds(TOPIC, partition)
            consumer.assign(TOPIC, {partition: begin})
            found[partition] = consumer.read(end - begin)
    return found


def assert_stored_once_and_in_order(
    outcomes: list[tuple[int, Delivery]], stored: dict[int, list[Record]]
) -> None:
    for partition, records in stored.items():
        assert [r.offset for r in records] == list(range(len(records)))
        numbers = [int(r.value or b"") for r in records]
        assert numbers == sorted(set(numbers)), "out of order, or stored twice"
        for number, outcome in outcomes:
            if outcome.error is None and outcome.partition == partition:
                assert numbers[outcome.offset] == number


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    with Confluent().admin(broker.bootstrap) as admin:
        admin.create_topic(TOPIC, PARTITIONS)
    return TOPIC


@pytest.mark.parametrize("kill", [True, False], ids=["kill -9", "restart"])
def test_acknowledged_records_survive_in_mid_stream(
    client: Client, broker: BrokerProcess, topic: str, kill: bool
) -> None:
    with client.producer(broker.bootstrap, idempotent=True) as producer:
        stream = Stream(producer)
        try:
            for _ in range(3):
                before = len(stream.outcomes)
                wait_until(
                    lambda before=before: len(stream.outcomes) > before + 200, "nothing flows"
                )
                broker.restart(kill=kill)
            before = len(stream.outcomes)
            wait_until(lambda: len(stream.outcomes) > before + 200, "nothing flows")
        finally:
            stream.end()
    acknowledged = [number for number, outcome in stream.outcomes if outcome.error is None]
    assert len(acknowledged) == len(stream.outcomes), "a producer that retries gets all through"
    assert_stored_once_and_in_order(stream.outcomes, read_all(broker))


def test_a_group_goes_on_where_it_was_after_kill(
    client: Client, broker: BrokerProcess, topic: str
) -> None:
    """The same consumer goes on, and what it committed is still there.

    It goes on where it was, or, if its group was rebalanced meanwhile, where it has committed.
    """
    with client.producer(broker.bootstrap) as producer:
        for i in range(100):
            producer.send(topic, b"%d" % i, partition=0)
        producer.flush()
        with client.consumer(broker.bootstrap, "readers") as consumer:
            consumer.subscribe([topic])
            assert [r.offset for r in consumer.read(100)] == list(range(100))
            consumer.commit(topic, {0: 60})
            broker.restart(kill=True)
            assert consumer.committed(topic, 0) == 60
            for i in range(100, 120):
                producer.send(topic, b"%d" % i, partition=0)
            assert all(outcome.error is None for outcome in producer.flush())
            seen: set[int] = set()

            def has_seen_all() -> bool:
                seen.update(r.offset for r in consumer.poll())
                return seen.issuperset(range(100, 120))

            wait_until(has_seen_all, lambda: f"of 100 to 119, read {sorted(seen)}")
            assert min(seen) >= 60
    with client.consumer(broker.bootstrap, "readers") as consumer:
        consumer.subscribe([topic])
        assert [r.offset for r in consumer.read(60)] == list(range(60, 120))


def test_topics_configs_and_deletions_survive_kill(client: Client, broker: BrokerProcess) -> None:
    with client.admin(broker.bootstrap) as admin:
        admin.create_topic("kept", 3, {"retention.ms": "1234567"})
        admin.create_topic("gone")
        admin.delete_topic("gone")
        admin.create_partitions("kept", 4)
    broker.restart(kill=True)
    with client.admin(broker.bootstrap) as admin:
        topics = admin.topics()
        assert "kept" in topics
        assert "gone" not in topics
        assert admin.partition_count("kept") == 4
        assert admin.topic_configs("kept")["retention.ms"] == "1234567"


def test_a_torn_tail_is_cut_off(broker: BrokerProcess, topic: str) -> None:
    client = Confluent()
    with client.producer(broker.bootstrap) as producer:
        for i in range(40):
            producer.send(topic, b"%d" % i, partition=i % PARTITIONS)
        producer.flush()
    broker.kill()
    segments = sorted(broker.data.rglob(f"{TOPIC}-*/*.log"))
    assert len(segments) == PARTITIONS
    with segments[0].open("ab") as segment:
        segment.write(segments[0].read_bytes()[:70])
    broker.start()
    stored = read_all(broker)
    assert {p: len(records) for p, records in stored.items()} == {0: 20, 1: 20}
    with client.producer(broker.bootstrap) as producer:
        producer.send(topic, b"more", partition=0)
        assert producer.flush()[0].offset == 20


def test_a_second_broker_cannot_have_the_same_data(broker: BrokerProcess) -> None:
    second = BrokerProcess(broker.data.parent)
    second.log = broker.data.parent / "second.log"
    with pytest.raises(AssertionError, match="ended at its start"):
        second.start()
    second.kill()
    assert broker.alive


# -- disk full -------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    if ELSEWHERE or os.geteuid() != 0:
        pytest.skip("mounting a file system takes root")
    mount = tmp_path / "disk"
    mount.mkdir()
    options = ["-t", "tmpfs", "-o", "size=12m", "tmpfs", str(mount)]
    done = subprocess.run(["mount", *options], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"can't mount: {done.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_full_disk(client: Client, small_disk: Path) -> None:
    with BrokerProcess(small_disk) as broker:

        def make_room() -> None:
            command = ["mount", "-o", "remount,size=64m", str(small_disk)]
            subprocess.run(command, check=True)

        _check_full_disk(client, broker, make_room)
        broker.restart()
        read_all(broker)


def test_a_file_that_may_not_grow(client: Client, make_broker: MakeBroker) -> None:
    """The same for those who may not mount: the kernel refuses to let any file grow."""
    broker = make_broker()
    process = psutil.Process(broker.pid)
    _, hard = process.rlimit(resource.RLIMIT_FSIZE)
    process.rlimit(resource.RLIMIT_FSIZE, (4_000_000, hard))

    def make_room() -> None:
        process.rlimit(resource.RLIMIT_FSIZE, (hard, hard))

    _check_full_disk(client, broker, make_room)


def _check_full_disk(client: Client, broker: BrokerProcess, make_room: Callable[[], None]) -> None:
    with client.admin(broker.bootstrap) as admin:
        admin.create_topic(TOPIC, PARTITIONS)
    value = os.urandom(50_000)
    acknowledged: dict[int, list[int]] = {p: [] for p in range(PARTITIONS)}
    with client.producer(broker.bootstrap, delivery_timeout_ms=8_000) as producer:
        for i in range(400):
            producer.send(TOPIC, b"%06d" % i + value, partition=i % PARTITIONS)
            (outcome,) = producer.flush()
            if outcome.error is not None:
                break
            acknowledged[i % PARTITIONS].append(i)
        else:
            pytest.fail("the disk never was full")
    assert min(map(len, acknowledged.values())) > 10

    def numbers() -> dict[int, list[int]]:
        stored = read_all(broker)
        return {p: [int((r.value or b"")[:6]) for r in records] for p, records in stored.items()}

    stored = numbers()
    for partition, sent in acknowledged.items():
        assert stored[partition][: len(sent)] == sent
    make_room()
    with client.producer(broker.bootstrap, delivery_timeout_ms=60_000) as producer:
        for i in range(1000, 1010):
            producer.send(TOPIC, b"%06d" % i + value, partition=i % PARTITIONS)
        assert [outcome.error for outcome in producer.flush()] == [None] * 10
    after = numbers()
    for partition, sent in acknowledged.items():
        assert after[partition][: len(sent)] == sent
        assert after[partition][-5:] == [
            i for i in range(1000, 1010) if i % PARTITIONS == partition
        ]
    assert broker.alive
