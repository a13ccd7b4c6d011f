"""Transactions as users write them: all of it or nothing, once, and never by two of the same name.

What a reader of committed records sees is looked at with each library. A plain record at the end of
each partition tells a reader that it has come to the end: it is seen only when no transaction is
left open before it.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.foreign_clients.confluent import Confluent
from tests.foreign_clients.conftest import CLIENTS, NewTopic
from tests.foreign_clients.face import Client, Fenced, MustAbort, Producer
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S, wait_until

END = b"the end"

Transactional = Callable[..., Producer]


@pytest.fixture
def transactional(client: Client, bootstrap: str, name: str) -> Iterator[Transactional]:
    """Producers with a transactional id, the test's name unless said."""
    with ExitStack() as stack:

        def open_producer(transactional_id: str = name, **options: object) -> Producer:
            producer = client.producer(bootstrap, transactional_id=transactional_id, **options)
            return stack.enter_context(producer)

        yield open_producer


def write(producer: Producer, topic: str, *values: bytes, partition: int = 0) -> None:
    for value in values:
        producer.send(topic, value, partition=partition)


def finish(producer: Producer, ends_well: bool) -> None:
    if ends_well:
        producer.commit()
        return
    # librdkafka may forget to wait until the partitions are part of the transaction, and ends one
    # that has not begun, which the coordinator refuses.
    producer.flush()
    producer.abort()


def write_plainly(bootstrap: str, topic: str, *values: bytes, partition: int = 0) -> None:
    with Confluent().producer(bootstrap) as producer:
        write(producer, topic, *values, partition=partition)
        assert all(outcome.error is None for outcome in producer.flush())


def end(bootstrap: str, topic: str, partitions: int = 1) -> None:
    for partition in range(partitions):
        write_plainly(bootstrap, topic, END, partition=partition)


def read(
    reader: Client, bootstrap: str, topic: str, partitions: int = 1, *, isolation: str
) -> dict[int, list[bytes]]:
    """The values of each partition, up to the record that ends it."""
    found: dict[int, list[bytes]] = {p: [] for p in range(partitions)}
    with reader.consumer(bootstrap, isolation=isolation) as consumer:
        consumer.assign(topic, dict.fromkeys(found, 0))
        ends = 0
        deadline = time.monotonic() + 60
        while ends < partitions:
            assert time.monotonic() < deadline, f"{reader.name} has read only {found}"
            for record in consumer.poll():
                if record.value == END:
                    ends += 1
                else:
                    found[record.partition].append(record.value or b"")
    return found


def committed(bootstrap: str, topic: str, partitions: int = 1) -> dict[int, list[bytes]]:
    """What all libraries see, and the same, as readers of committed records."""
    seen = [
        read(reader, bootstrap, topic, partitions, isolation="read_committed") for reader in CLIENTS
    ]
    assert seen[0] == seen[1] == seen[2]
    return seen[0]


def numbers(start: int, stop: int, step: int = 1) -> list[bytes]:
    return [b"%d" % i for i in range(start, stop, step)]


# -- all of it or nothing --------------------------------------------------------------------------


def test_nothing_of_a_transaction_is_seen_before_it_is_committed(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional
) -> None:
    """Over the partitions of two topics."""
    topics = [new_topic(partitions=3), new_topic(partitions=3)]
    producer = transactional()
    producer.begin()
    for topic in topics:
        for partition in range(3):
            write(producer, topic, b"a", b"b", partition=partition)
    assert all(outcome.error is None for outcome in producer.flush())
    for isolation, count in (("read_uncommitted", 6), ("read_committed", 0)):
        with client.consumer(bootstrap, isolation=isolation) as consumer:
            consumer.assign(topics[0], dict.fromkeys(range(3), 0))
            if count:
                consumer.read(count)
            else:
                assert consumer.poll(0.5) == []
    producer.commit()
    for topic in topics:
        end(bootstrap, topic, 3)
        assert committed(bootstrap, topic, 3) == {p: [b"a", b"b"] for p in range(3)}


def test_what_was_aborted_is_never_seen(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional
) -> None:
    """Between committed and plain records, and by readers that start anywhere."""
    topic = new_topic()
    producer = transactional()
    for number, ends_well in enumerate([True, False, False, True, False]):
        producer.begin()
        write(producer, topic, *[b"%d %s" % (number, b"good" if ends_well else b"bad")] * 3)
        producer.flush()
        write_plainly(bootstrap, topic, b"%d plain" % number)
        finish(producer, ends_well)
    end(bootstrap, topic)
    good = [b"0 good"] * 3 + [b"0 plain", b"1 plain", b"2 plain"]
    good += [b"3 good"] * 3 + [b"3 plain", b"4 plain"]
    assert committed(bootstrap, topic) == {0: good}
    everything = read(client, bootstrap, topic, isolation="read_uncommitted")[0]
    assert len(everything) == 5 * (3 + 1)
    assert everything.count(b"1 bad") == 3
    with client.consumer(bootstrap, isolation="read_committed") as consumer:
        for start in range(0, 26, 4):
            consumer.assign(topic, {0: start})
            offsets, values = [], [b""]
            while values[-1] != END:
                records = consumer.poll(60)
                offsets += [r.offset for r in records]
                values += [r.value or b"" for r in records]
            assert offsets[0] >= start
            assert values[1:-1] == good[len(good) - (len(values) - 2) :]


def test_readers_wait_for_the_oldest_transaction(
    bootstrap: str, client: Client, new_topic: NewTopic, transactional: Transactional
) -> None:
    """Records keep their order, so those that are committed sooner wait behind it."""
    topic = new_topic()
    slow, quick = transactional(), transactional("quick-" + topic)
    slow.begin()
    write(slow, topic, b"slow")
    slow.flush()
    quick.begin()
    write(quick, topic, b"quick")
    quick.commit()
    with client.consumer(bootstrap, isolation="read_committed") as consumer:
        consumer.assign(topic, {0: 0})
        assert consumer.poll(0.5) == []
        slow.commit()
        assert [r.value for r in consumer.read(2)] == [b"slow", b"quick"]


def test_the_end_of_a_partition_is_where_committed_records_end(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional
) -> None:
    topic = new_topic()
    write_plainly(bootstrap, topic, b"plain")
    producer = transactional()
    producer.begin()
    write(producer, topic, *numbers(0, 4))
    producer.flush()

    def ends() -> list[int]:
        found = []
        for isolation in ("read_uncommitted", "read_committed"):
            with client.consumer(bootstrap, isolation=isolation) as consumer:
                found.append(consumer.bounds(topic, 0)[1])
        return found

    assert ends() == [5, 1]
    producer.commit()
    wait_until(lambda: ends() == [6, 6], "the marker does not end the transaction")


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_transaction_of_many_batches_and_segments(
    client: Client,
    bootstrap: str,
    new_topic: NewTopic,
    transactional: Transactional,
    compression: str,
) -> None:
    topic = new_topic(2, segment_bytes="1048576")
    producer = transactional(compression=compression)
    padding = bytes(range(256)) * 2
    for number, ends_well in enumerate([False, True, False]):
        producer.begin()
        for i in range(3_000):
            producer.send(topic, b"%d %d" % (number, i) + padding, partition=i % 2)
        finish(producer, ends_well)
    end(bootstrap, topic, 2)
    found = read(client, bootstrap, topic, 2, isolation="read_committed")
    expected = {p: [b"1 %d" % i + padding for i in range(p, 3_000, 2)] for p in range(2)}
    assert found == expected


def test_a_transaction_over_two_hundred_partitions(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional
) -> None:
    topic = new_topic(partitions=200)
    producer = transactional()
    for ends_well in (True, False, True):
        producer.begin()
        for partition in range(200):
            producer.send(topic, b"good" if ends_well else b"bad", partition=partition)
        finish(producer, ends_well)
    for partition in (0, 77, 199):
        write_plainly(bootstrap, topic, END, partition=partition)
    with client.consumer(bootstrap, isolation="read_committed") as consumer:
        consumer.assign(topic, dict.fromkeys(range(200), 0))
        values = [r.value for r in consumer.read(403)]
    assert sorted(value or b"" for value in values) == [b"good"] * 400 + [END] * 3


def test_one_transaction_after_the_other(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional
) -> None:
    """Each begins when the one before has only just been decided; empty ones among them."""
    topic = new_topic(partitions=3)
    producer = transactional()
    expected: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    for number in range(60):
        producer.begin()
        if number % 7 != 3:
            write(producer, topic, b"%d" % number, partition=number % 3)
        finish(producer, number % 4 != 1)
        if number % 7 != 3 and number % 4 != 1:
            expected[number % 3].append(b"%d" % number)
    end(bootstrap, topic, 3)
    assert committed(bootstrap, topic, 3) == expected


def test_many_producers_at_once(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional, name: str
) -> None:
    """Each with its own id, in the same partitions."""
    topic = new_topic(partitions=2)
    producers = [transactional(f"{name}-{i}") for i in range(6)]

    def work(number: int) -> None:
        producer = producers[number]
        for round_number in range(5):
            producer.begin()
            for partition in range(2):
                write(producer, topic, b"%d/%d" % (number, round_number), partition=partition)
            finish(producer, round_number != number % 5)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    end(bootstrap, topic, 2)
    for values in committed(bootstrap, topic, 2).values():
        assert len(values) == 24
        for number in range(6):
            rounds = [b"%d/%d" % (number, i) for i in range(5) if i != number % 5]
            assert [v for v in values if v.startswith(b"%d/" % number)] == rounds


# -- offsets ---------------------------------------------------------------------------------------


def test_offsets_are_committed_with_the_transaction(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional, name: str
) -> None:
    source, target = new_topic(partitions=2), new_topic()
    for partition in range(2):
        write_plainly(bootstrap, source, *numbers(0, 10), partition=partition)
    producer = transactional()
    with client.consumer(bootstrap, name, isolation="read_committed") as consumer:
        consumer.subscribe([source])
        consumer.read(20)
        producer.begin()
        write(producer, target, b"first")
        producer.send_offsets(consumer.group_metadata(), source, {0: 4, 1: 6})
        producer.abort()
        assert consumer.committed(source, 0) is None
        producer.begin()
        write(producer, target, b"second")
        producer.send_offsets(consumer.group_metadata(), source, {0: 4})
        producer.send_offsets(consumer.group_metadata(), source, {0: 5, 1: 7})
        producer.commit()
        wait_until(lambda: consumer.committed(source, 0) == 5, "the offset is not committed")
        assert consumer.committed(source, 1) == 7
        producer.begin()
        producer.send_offsets(consumer.group_metadata(), source, {0: 8, 1: 8})
        producer.abort()
        assert [consumer.committed(source, p) for p in range(2)] == [5, 7]
    with client.consumer(bootstrap, name) as consumer:
        consumer.subscribe([source])
        offsets = sorted((r.partition, r.offset) for r in consumer.read(8))
    assert offsets == [(0, o) for o in range(5, 10)] + [(1, o) for o in range(7, 10)]
    end(bootstrap, target)
    assert committed(bootstrap, target) == {0: [b"second"]}


def test_who_wants_stable_offsets_waits_for_the_transaction(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional, name: str
) -> None:
    """Else it would read again what the transaction, once committed, has dealt with."""
    if client.name == "aiokafka":
        pytest.skip("this library does not ask for stable offsets")
    source = new_topic()
    write_plainly(bootstrap, source, *numbers(0, 10))
    producer = transactional()
    with client.consumer(bootstrap, name, isolation="read_committed") as consumer:
        consumer.subscribe([source])
        consumer.read(10)
        producer.begin()
        producer.send_offsets(consumer.group_metadata(), source, {0: 7})
        late = threading.Timer(0.7, producer.commit)
        began = time.monotonic()
        late.start()
        assert consumer.committed(source, 0) == 7
        assert time.monotonic() - began > 0.5
        late.join()


def test_a_member_that_lost_its_partitions_commits_nothing(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional, name: str
) -> None:
    """The group has gone on without it, so the generation it brings along is old."""
    if client.name == "aiokafka":
        pytest.skip("this library does not say which member sends the offsets")
    source, target = new_topic(), new_topic()
    write_plainly(bootstrap, source, *numbers(0, 10))
    producer = transactional()
    with client.consumer(bootstrap, name) as lost:
        lost.subscribe([source])
        lost.read(10)
        membership = lost.group_metadata()
    with client.consumer(bootstrap, name) as other:
        other.subscribe([source])
        other.read(10)
        producer.begin()
        write(producer, target, b"late")
        with pytest.raises(MustAbort):
            producer.send_offsets(membership, source, {0: 10})
        producer.abort()
        assert other.committed(source, 0) is None
        producer.begin()
        write(producer, target, b"again")
        producer.send_offsets(other.group_metadata(), source, {0: 10})
        producer.commit()
        wait_until(lambda: other.committed(source, 0) == 10, "the offset is not committed")
    end(bootstrap, target)
    assert committed(bootstrap, target) == {0: [b"again"]}


def test_consume_transform_produce(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional, name: str
) -> None:
    """Round by round: what was read, what came of it, and how far it was read, together."""
    source, target = new_topic(partitions=2), new_topic(partitions=2)
    for partition in range(2):
        write_plainly(bootstrap, source, *numbers(0, 100), partition=partition)
    producer = transactional()
    done = rounds = 0
    with client.consumer(bootstrap, name, isolation="read_committed", max_bytes=500) as consumer:
        consumer.subscribe([source])
        while done < 200:
            records = consumer.poll(1.0)
            if not records:
                continue
            rounds += 1
            producer.begin()
            for r in records:
                producer.send(target, b"done " + (r.value or b""), partition=r.partition)
            producer.send_offsets(
                consumer.group_metadata(), source, {r.partition: r.offset + 1 for r in records}
            )
            if rounds % 3 == 2:
                producer.abort()
                for partition in {r.partition for r in records}:
                    first = min(r.offset for r in records if r.partition == partition)
                    consumer.seek(source, partition, first)
            else:
                producer.commit()
                done += len(records)
    end(bootstrap, target, 2)
    expected = [b"done " + value for value in numbers(0, 100)]
    assert committed(bootstrap, target, 2) == {0: expected, 1: expected}


# -- never by two of the same name -----------------------------------------------------------------


def test_a_zombie_is_fenced(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional
) -> None:
    """Its open transaction is aborted at once, and whatever it does later is refused."""
    topic = new_topic()
    zombie = transactional()
    zombie.begin()
    write(zombie, topic, b"zombie")
    zombie.flush()
    heir = transactional()
    heir.begin()
    write(heir, topic, b"heir")
    heir.commit()
    write(zombie, topic, b"zombie again")
    with pytest.raises(Fenced):
        zombie.commit()
    heir.begin()
    write(heir, topic, b"still there")
    heir.commit()
    end(bootstrap, topic)
    assert committed(bootstrap, topic) == {0: [b"heir", b"still there"]}


def test_a_zombie_that_only_commits_is_told_so(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional
) -> None:
    topic = new_topic()
    zombie = transactional()
    zombie.begin()
    write(zombie, topic, b"zombie")
    zombie.flush()
    transactional()
    with pytest.raises(Fenced):
        zombie.commit()
    end(bootstrap, topic)
    assert committed(bootstrap, topic) == {0: []}


def test_a_transaction_that_takes_too_long_is_aborted(
    client: Client, bootstrap: str, new_topic: NewTopic, transactional: Transactional
) -> None:
    """Without any request: readers go on, and the producer is fenced when it comes back."""
    topic = new_topic()
    producer = transactional(transaction_timeout_ms=5_000)
    producer.begin()
    write(producer, topic, b"never to be seen")
    producer.flush()
    end(bootstrap, topic)
    assert committed(bootstrap, topic) == {0: []}
    with pytest.raises((Fenced, MustAbort)):
        producer.commit()
    again = transactional()
    again.begin()
    write(again, topic, b"seen")
    again.commit()
    end(bootstrap, topic)
    with client.consumer(bootstrap, isolation="read_committed") as consumer:
        consumer.assign(topic, {0: 0})
        assert [r.value for r in consumer.read(3)] == [END, b"seen", END]


# -- faults ----------------------------------------------------------------------------------------


def test_a_transaction_outlives_the_broker_that_served_it(
    client: Client, broker: BrokerProcess, name: str
) -> None:
    with Confluent().admin(broker.bootstrap) as admin:
        admin.create_topic("t", 3)
        admin.create_topic("source")
    write_plainly(broker.bootstrap, "source", *numbers(0, 10))
    with (
        client.producer(broker.bootstrap, transactional_id=name) as producer,
        client.producer(broker.bootstrap, transactional_id=name + "-left") as left,
        client.consumer(broker.bootstrap, "readers") as consumer,
    ):
        consumer.assign("source", {0: 0})
        for one, value in ((left, b"left"), (producer, b"before")):
            one.begin()
            for partition in range(3):
                write(one, "t", value, partition=partition)
            one.flush()
        producer.send_offsets(consumer.group_metadata(), "source", {0: 3})
        broker.restart(kill=True)
        for partition in range(3):
            write(producer, "t", b"after", partition=partition)
        producer.commit()
        broker.restart()
        producer.begin()
        write(producer, "t", b"next")
        producer.commit()
        left.abort()
        wait_until(lambda: consumer.committed("source", 0) == 3, "the offset is not committed")
    end(broker.bootstrap, "t", 3)
    found = committed(broker.bootstrap, "t", 3)
    both = [b"before", b"after"]
    assert found == {0: [*both, b"next"], 1: both, 2: both}


def test_retries_of_an_idempotent_producer_are_stored_once(
    client: Client, broker: BrokerProcess
) -> None:
    """The broker is silent for longer than the producer waits: it gets everything twice."""
    with Confluent().admin(broker.bootstrap) as admin:
        admin.create_topic("t", 2)
    with client.producer(broker.bootstrap, idempotent=True, request_timeout_ms=1_000) as producer:
        producer.send("t", b"0", partition=0)
        producer.flush()
        count = 1
        for _ in range(2):
            broker.freeze()
            thaw = threading.Timer(1.7, broker.thaw)
            thaw.start()
            for _ in range(100):
                producer.send("t", b"%d" % count, partition=count % 2)
                count += 1
            outcomes = producer.flush()
            thaw.join()
            assert [outcome.error for outcome in outcomes] == [None] * 100
    end(broker.bootstrap, "t", 2)
    found = read(client, broker.bootstrap, "t", 2, isolation="read_uncommitted")
    assert found == {p: numbers(p, count, 2) for p in range(2)}
