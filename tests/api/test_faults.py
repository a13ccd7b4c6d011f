"""Our clients while leaders die, hang and restart, groups change, and handlers are slow.

Nothing that was acknowledged is lost, nothing is stored twice, and each partition keeps its order.
"""

import asyncio
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient

import barnabas
from barnabas import Cluster, Consumer, Producer, TopicPartition, errors
from tests.support.wait import LIMIT_S, wait_until

PARTITIONS = 3
QUICK = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}

three_nodes = pytest.mark.barnabas(nodes=3, partitions=PARTITIONS)


class Worker(threading.Thread):
    """Runs until it is told to stop, and what it raises is raised by `finish`."""

    def __init__(self, work: Callable[[threading.Event], None]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._told = threading.Event()
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._work(self._told)
        except BaseException as error:  # noqa: BLE001 - told to the test
            self._error = error

    def finish(self, timeout_s: float = 60) -> None:
        self._told.set()
        self.join(timeout_s)
        assert not self.is_alive(), "it does not end"
        if self._error is not None:
            raise self._error


def read_all(cluster: Cluster, topic: str, count: int) -> dict[int, list[int]]:
    """The numbers in each partition, in order, and not one more."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    with Consumer(cluster.bootstrap_servers, topic, value_format="int") as consumer:
        deadline = time.monotonic() + 60
        while sum(map(len, found.values())) < count:
            assert time.monotonic() < deadline, f"{sum(map(len, found.values()))} of {count}"
            for message in consumer.poll(0.5):
                found[message.partition].append(message.value)
        for message in consumer.poll(0.3):
            found[message.partition].append(message.value)
    return found


# -- producing -----------------------------------------------------------------------------------


@pytest.mark.barnabas(nodes=3, partitions=PARTITIONS, faults=["kill", "pause", "stop"])
def test_what_is_acknowledged_is_stored_once_and_in_order(
    barnabas_cluster: Cluster, barnabas_topic: str, barnabas_fault: Callable[[], int]
) -> None:
    sent: list[barnabas.Sent] = []

    def produce(stop: threading.Event) -> None:
        with Producer(barnabas_cluster.bootstrap_servers, value_format="int") as producer:
            while not stop.is_set():
                for _ in range(20):
                    number = len(sent)
                    sent.append(
                        producer.send(barnabas_topic, number, partition=number % PARTITIONS)
                    )
                time.sleep(0.005)

    worker = Worker(produce)
    wait_until(lambda: len(sent) > 1_000, "nothing is sent")
    barnabas_fault()
    hit = len(sent)
    wait_until(lambda: len(sent) > hit + 200 and sent[hit + 100].done(), "it does not go on")
    worker.finish()
    acknowledged: defaultdict[int, list[int]] = defaultdict(list)
    for number, each in enumerate(sent):
        delivery = each.result(0)
        assert delivery.partition == number % PARTITIONS
        acknowledged[delivery.partition].append(number)
    assert read_all(barnabas_cluster, barnabas_topic, len(sent)) == acknowledged


@three_nodes
def test_offsets_that_were_told_are_right_after_a_leader_is_lost(
    barnabas_cluster: Cluster, barnabas_topic: str
) -> None:
    told: dict[tuple[int, int], int] = {}
    with Producer(barnabas_cluster.bootstrap_servers, value_format="int") as producer:
        for number in range(60):
            if number == 30:
                barnabas_cluster.kill(barnabas_cluster.leader_of(barnabas_topic, 0))
            done = producer.send(barnabas_topic, number, partition=number % PARTITIONS).result(
                LIMIT_S
            )
            told[done.partition, done.offset] = number
    found = read_all(barnabas_cluster, barnabas_topic, 60)
    assert told == {(p, o): n for p, numbers in found.items() for o, n in enumerate(numbers)}


def is_delivered(sent: barnabas.Sent) -> bool:
    try:
        sent.result(LIMIT_S)
    except errors.DeliveryTimedOut:  # the first may take longer than it may
        return False
    return True


def test_what_cannot_be_delivered_is_not_overlooked() -> None:
    with Cluster() as cluster:
        cluster.create_topic("t")
        producer = Producer(cluster.bootstrap_servers, delivery_timeout_ms=1_000)
        wait_until(lambda: is_delivered(producer.send("t", b"before")), "nothing arrives")
        cluster.kill(1)
        looked_at = producer.send("t", b"looked at")
        with pytest.raises(errors.BarnabasError):
            looked_at.result(LIMIT_S)
        producer.send("t", b"overlooked")
        with pytest.raises(errors.DeliveryFailed, match="1 "):
            producer.close()


# -- consuming -----------------------------------------------------------------------------------


@contextmanager
def trickle(cluster: Cluster, topic: str) -> Iterator[list[int]]:
    """Sends numbers, to each partition in turn; the list has those that are acknowledged."""
    acknowledged: list[int] = []

    def produce(stop: threading.Event) -> None:
        with Producer(cluster.bootstrap_servers, value_format="int") as producer:
            number = 0
            while not stop.is_set():
                sent = [
                    producer.send(topic, number + i, partition=(number + i) % PARTITIONS)
                    for i in range(30)
                ]
                for each in sent:
                    each.result(LIMIT_S)
                    acknowledged.append(number)
                    number += 1
                time.sleep(0.01)

    worker = Worker(produce)
    try:
        yield acknowledged
    finally:
        worker.finish()


@three_nodes
def test_a_reader_sees_each_message_once_while_leaders_change(
    barnabas_cluster: Cluster, barnabas_topic: str
) -> None:
    seen: defaultdict[int, list[int]] = defaultdict(list)
    servers = barnabas_cluster.bootstrap_servers

    def consume(stop: threading.Event) -> None:
        with Consumer(servers, barnabas_topic, value_format="int") as consumer:
            while not stop.is_set():
                for message in consumer.poll(0.2):
                    seen[message.partition].append(message.value)

    def count() -> int:
        return sum(map(len, list(seen.values())))

    worker = Worker(consume)
    with trickle(barnabas_cluster, barnabas_topic) as acknowledged:
        wait_until(lambda: count() > 300, "nothing is read")
        barnabas_cluster.kill(barnabas_cluster.leader_of(barnabas_topic, 0))
        before = count()
        wait_until(lambda: count() > before + 300, "it does not go on")
        barnabas_cluster.restart()
        barnabas_cluster.stop(barnabas_cluster.leader_of(barnabas_topic, 1))
        before = count()
        wait_until(lambda: count() > before + 300, "it does not go on")
    wait_until(lambda: count() >= len(acknowledged), "not everything is read")
    worker.finish()
    assert seen == {p: acknowledged[p::PARTITIONS] for p in range(PARTITIONS)}


class Crew:
    """Members of a group that handle numbers, slowly perhaps; who did what is written down."""

    def __init__(self, cluster: Cluster, topic: str, **options: object) -> None:
        self.handled: list[tuple[str, int, int]] = []
        """Name, partition and number."""
        self.assigned: list[tuple[str, list[TopicPartition]]] = []
        self.revoked: list[tuple[str, list[TopicPartition]]] = []
        self.lost: list[tuple[str, list[TopicPartition]]] = []
        self._cluster = cluster
        self._topic = topic
        self._options = {**QUICK, **options}

    def member(self, name: str, pause_s: float = 0.0) -> Worker:
        def work(stop: threading.Event) -> None:
            with Consumer(
                self._cluster.bootstrap_servers,
                self._topic,
                group=self._topic,
                value_format="int",
                on_assigned=lambda those: self.assigned.append((name, list(those))),
                on_revoked=lambda those: self.revoked.append((name, list(those))),
                on_lost=lambda those: self.lost.append((name, list(those))),
                **self._options,
            ) as consumer:
                while not stop.is_set():
                    for message in consumer.poll(0.2, max_records=20):
                        time.sleep(pause_s)
                        self.handled.append((name, message.partition, message.value))

        return Worker(work)

    def counts(self) -> Counter[int]:
        return Counter(number for _, _, number in list(self.handled))

    def wait_for(self, numbers: int) -> None:
        def complete() -> bool:
            return len(self.counts()) >= numbers

        wait_until(complete, f"not all of {numbers} are handled")

    def check_order(self) -> None:
        """Each member has seen each partition in order; a message again only after a new start."""
        latest: dict[tuple[str, int], int] = {}
        for name, partition, number in self.handled:
            assert number > latest.get((name, partition), -1)
            latest[name, partition] = number


def test_nobody_misses_or_repeats_a_message_when_members_come_and_go(
    barnabas_cluster: Cluster,
) -> None:
    topic = "come-and-go"
    barnabas_cluster.create_topic(topic, PARTITIONS)
    crew = Crew(barnabas_cluster, topic)
    with trickle(barnabas_cluster, topic) as acknowledged:
        first = crew.member("ada")
        wait_until(lambda: len(crew.handled) > 100, "nothing is handled")
        second = crew.member("bob")
        wait_until(lambda: {n for n, _, _ in crew.handled} == {"ada", "bob"}, "bob is idle")
        third = crew.member("eve", pause_s=0.001)
        wait_until(lambda: "eve" in {n for n, _, _ in crew.handled}, "eve is idle")
        first.finish()
        before = len(crew.handled)
        wait_until(lambda: len(crew.handled) > before + 200, "it does not go on")
    crew.wait_for(len(acknowledged))
    second.finish()
    third.finish()
    assert crew.counts() == Counter(acknowledged)
    assert not crew.lost
    crew.check_order()


def coordinator_of(cluster: Cluster, group: str) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    described = admin.describe_consumer_groups([group])[group].result()
    return int(described.coordinator.id)


@three_nodes
def test_a_group_goes_on_when_the_node_that_leads_it_and_its_data_dies(
    barnabas_cluster: Cluster, barnabas_topic: str
) -> None:
    crew = Crew(barnabas_cluster, barnabas_topic, commit_interval_ms=200)
    members = [crew.member("ada"), crew.member("bob")]
    with trickle(barnabas_cluster, barnabas_topic) as acknowledged:
        wait_until(lambda: len(crew.handled) > 300, "nothing is handled")
        barnabas_cluster.kill(coordinator_of(barnabas_cluster, barnabas_topic))
        before = len(crew.handled)
        wait_until(lambda: len(crew.handled) > before + 600, "it does not go on")
    crew.wait_for(len(acknowledged))
    for member in members:
        member.finish()
    assert set(crew.counts()) == set(acknowledged)


def test_a_slow_handler_is_not_thrown_out(barnabas_cluster: Cluster) -> None:
    topic = f"slow-{uuid4().hex[:8]}"
    barnabas_cluster.create_topic(topic, 2)
    with Producer(barnabas_cluster.bootstrap_servers, value_format="int") as producer:
        for number in range(2):
            producer.send(topic, number, partition=number)
    crew = Crew(barnabas_cluster, topic, session_timeout_ms=1_000)
    worker = crew.member("ada", pause_s=1.4)
    crew.wait_for(2)
    worker.finish()
    assert len(crew.assigned) == 1
    assert not crew.lost
    with barnabas.Admin(barnabas_cluster.bootstrap_servers) as admin:
        committed = admin.group_offsets(topic)
    assert list(committed.values()) == [1, 1]


def test_who_is_slower_than_a_rebalance_can_wait_loses_its_work_to_others(
    barnabas_cluster: Cluster,
) -> None:
    """What the slow one holds is handled again by others, and it comes back by itself."""
    topic = f"too-slow-{uuid4().hex[:8]}"
    barnabas_cluster.create_topic(topic, PARTITIONS)
    with Producer(barnabas_cluster.bootstrap_servers, value_format="int") as producer:
        for number in range(60):
            producer.send(topic, number, partition=number % PARTITIONS)
    crew = Crew(barnabas_cluster, topic, rebalance_timeout_ms=800)
    slow = crew.member("ada", pause_s=0.1)  # two seconds for what it has polled
    wait_until(lambda: bool(crew.handled), "nothing is handled")
    quick = crew.member("bob")
    crew.wait_for(60)
    slow.finish()
    quick.finish()
    assert set(crew.counts()) == set(range(60))
    assert {name for name, _, _ in crew.handled} == {"ada", "bob"}
    assert "ada" in {name for name, _ in crew.lost}


def test_a_handler_that_blocks_the_event_loop_stays_in_its_group(
    barnabas_cluster: Cluster,
) -> None:
    topic = "blocks"
    barnabas_cluster.create_topic(topic)
    assigned = []

    async def work() -> list[int]:
        servers = barnabas_cluster.bootstrap_servers
        async with barnabas.aio.Producer(servers, value_format="int") as producer:
            for number in range(2):
                await producer.send(topic, number)
        seen: list[int] = []
        async with barnabas.aio.Consumer(
            servers,
            topic,
            group=topic,
            session_timeout_ms=1_000,
            value_format="int",
            on_assigned=assigned.append,
        ) as consumer:
            async for message in consumer:
                seen.append(message.value)
                if len(seen) == 2:
                    return seen
                time.sleep(1.8)  # blocks the loop of the application, and not that of the clients
        raise AssertionError

    assert asyncio.run(work()) == [0, 1]
    assert len(assigned) == 1


# -- transactions --------------------------------------------------------------------------------


@three_nodes
def test_each_input_has_its_output_once_while_nodes_die_and_work_fails(
    barnabas_cluster: Cluster, barnabas_topic: str
) -> None:
    servers, inputs, outputs = (
        barnabas_cluster.bootstrap_servers,
        barnabas_topic,
        f"{barnabas_topic}-out",
    )
    barnabas_cluster.create_topic(outputs, PARTITIONS)
    committed = [0]

    def transform(stop: threading.Event) -> None:
        with (
            Consumer(
                servers, inputs, group=inputs, commit="manual", value_format="int", **QUICK
            ) as consumer,
            Producer(servers, transactional_id=inputs, value_format="int") as producer,
        ):
            attempts = 0
            while not stop.is_set():
                attempts += 1
                try:
                    with producer.transaction(consumer):
                        messages = consumer.poll(0.2, max_records=50)
                        for message in messages:
                            producer.send(outputs, message.value, partition=message.partition)
                        if attempts % 5 == 0:
                            raise InterruptedError
                    committed[0] += len(messages)
                except (InterruptedError, errors.TransactionAborted):
                    continue

    worker = Worker(transform)
    with trickle(barnabas_cluster, inputs) as acknowledged:
        wait_until(lambda: committed[0] > 200, "nothing is committed")
        barnabas_cluster.kill(barnabas_cluster.leader_of(outputs, 0))
        before = committed[0]
        wait_until(lambda: committed[0] > before + 200, "it does not go on")
    wait_until(lambda: committed[0] >= len(acknowledged), "not everything is committed")
    worker.finish()
    found = read_all(barnabas_cluster, outputs, len(acknowledged))
    assert found == {p: acknowledged[p::PARTITIONS] for p in range(PARTITIONS)}
