"""The yardstick itself: it compares right, and both brokers really do what is measured."""

import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks import read_committed, transactions
from benchmarks.bench import BASELINE, CLUSTER, TOPIC, Row
from benchmarks.brokers import BARE, BARNABAS, Contender
from benchmarks.catch_up import follower_speed
from benchmarks.clusters import produce_all
from benchmarks.failover import Traffic
from benchmarks.raw_client import RawConnection, check_produced, produce_frame
from benchmarks.single_records import pipeline
from tests.support.cluster import ClusterProcesses
from tests.support.wait import LIMIT_S


def test_a_promise_is_held_to_the_bare_broker() -> None:
    values = {BARNABAS: 3.0, BARE: 2.0}
    assert Row("", "s", values).ratio == 1.5
    assert Row("", "s", values).kept is None
    assert Row("", "s", values, at_most_ratio=1.5).kept is True
    assert Row("", "s", values, at_most_ratio=1.4).kept is False


def test_a_promise_is_held_to_a_limit() -> None:
    assert Row("", "s", {BARNABAS: 1.0}, at_most=1.0).kept is True
    assert Row("", "s", {BARNABAS: 1.1}, at_most=1.0).kept is False
    assert Row("", "s", {BARNABAS: 1.0}).ratio is None


def test_a_cluster_is_compared_with_what_stands_beside_it() -> None:
    values = {CLUSTER: 3.0, BASELINE: 2.0}
    assert Row("", "s", values).ratio == 1.5
    assert Row("", "s", values, at_most=2.9).kept is False
    assert Row("", "s", {CLUSTER: 3.0}, at_most=3.0).kept is True


def test_a_figure_is_compared_with_what_stands_beside_it() -> None:
    assert Row("", "s", {BARNABAS: 3.0, BASELINE: 2.0}).ratio == 1.5
    assert Row("", "s", {BARNABAS: 3.0, BASELINE: 2.0}, at_most_ratio=1.4).kept is False


@pytest.mark.parametrize("name", [BARNABAS, BARE])
def test_what_is_measured_is_really_stored(name: str) -> None:
    frame = produce_frame(TOPIC, b"from afar", partition=1)
    with Contender(name).running(TOPIC, 2) as broker:
        with RawConnection(broker.host, broker.port) as connection:
            check_produced(connection.ask(frame), TOPIC)
            pipeline(connection, frame, count=50, in_flight=8)
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(100):
            producer.produce(TOPIC, str(number), partition=1)
        assert producer.flush(LIMIT_S) == 0

        options = {"group.id": "g", "enable.auto.commit": False}  # there may be no coordinator
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, **options})
        consumer.assign([TopicPartition(TOPIC, 1, 0)])
        read = [message.value() for message in consumer.consume(151, 60)]
        consumer.close()
        assert broker.cpu_s() > 0
    assert read == [b"from afar"] * 51 + [str(number).encode() for number in range(100)]


def test_an_error_of_the_broker_stops_the_measurement() -> None:
    with (
        Contender(BARNABAS).running(TOPIC) as broker,
        RawConnection(broker.host, broker.port) as connection,
        pytest.raises(RuntimeError, match="error 3"),
    ):
        check_produced(connection.ask(produce_frame(TOPIC, b"", partition=7)), TOPIC)


@pytest.mark.long
def test_failover_is_timed_from_the_kill(tmp_path: Path) -> None:
    with ClusterProcesses(tmp_path, 3) as cluster:
        cluster.create_topic(TOPIC, 3)
        leader = cluster.leader_of(TOPIC, 1)
        with Traffic(cluster.bootstrap, TOPIC, 1, 3) as traffic:
            began = time.perf_counter()
            leader.kill()
            acked_s, read_s = traffic.next_after(began)
            took_s = time.perf_counter() - began
        assert cluster.leader_of(TOPIC, 1) is not leader
    assert 0 < acked_s <= took_s
    assert 0 < read_s <= took_s


@pytest.mark.long
def test_a_follower_that_catches_up_is_seen_to_grow(tmp_path: Path) -> None:
    with ClusterProcesses(tmp_path, 3) as cluster:
        cluster.create_topic(TOPIC, 1)
        leader = cluster.leader_of(TOPIC)
        follower = next(node for node in cluster.nodes.values() if node is not leader)
        follower.stop()
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
        assert produce_all(producer, TOPIC, bytes(1000), 5_000) > 0
        stored = sum(path.stat().st_size for path in leader.data.glob(f"{TOPIC}-0/*.log"))
        assert stored > 5_000_000
        follower.launch()
        assert follower_speed(follower, stored) > 0
        cluster.wait_until_in_sync()


@pytest.mark.long
def test_transactions_that_are_measured_are_committed() -> None:
    with Contender(BARNABAS).running(TOPIC, 3) as broker:
        for mode in (transactions.BY_COUNT, transactions.BY_TIME):
            assert min(transactions.throughput(broker, mode, megabytes=2)) > 0
        for transactional in (True, False):
            laps, cpu_us = transactions.own_one_by_one(broker, 20, transactional=transactional)
            assert len(laps) == 20
            assert cpu_us > 0
        options = {"group.id": "g", "isolation.level": "read_committed"}
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, **options})
        consumer.assign([TopicPartition(TOPIC, p, 0) for p in range(3)])
        count = 2 * (3 + 2_000) + 2 * (20 + 50)
        assert len(consumer.consume(count, 60)) == count
        consumer.close()


def test_who_reads_committed_records_is_measured_on_the_same_topic() -> None:
    with Contender(BARNABAS).running(TOPIC) as broker:
        read_committed.fill(broker, 4, aborts=True)
        assert min(read_committed.consume(broker, "read_committed", 2_000)) > 0
        assert min(read_committed.consume(broker, "read_uncommitted", 4_000)) > 0
        with pytest.raises(RuntimeError, match="instead of"):
            read_committed.consume(broker, "read_committed", 4_000)
