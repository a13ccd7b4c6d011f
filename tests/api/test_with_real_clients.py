"""Our clients with other clients: the same records, partitions, groups, transactions.

Each scenario has ours on one side and confluent-kafka (librdkafka), kafka-python and aiokafka on
the other. The shared broker of the tests may be a real Kafka (`BARNABAS_TEST_BOOTSTRAP`).
"""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest
from confluent_kafka import Producer as ConfluentProducer

import barnabas
from tests.api.own import Own
from tests.foreign_clients.aio import AioKafka
from tests.foreign_clients.confluent import Confluent
from tests.foreign_clients.face import Client, Headers, Record
from tests.foreign_clients.kafka_python import KafkaPython
from tests.foreign_clients.members import Member, wait_for_shares
from tests.support.wait import LIMIT_S, wait_until

OWN = Own()
THEIRS = [Confluent(), KafkaPython(), AioKafka()]
COMPRESSIONS = ["none", "gzip", "snappy", "lz4", "zstd"]
BEGIN_MS = 1_700_000_000_000

NewTopic = Callable[[int], str]


@pytest.fixture(params=THEIRS, ids=lambda client: client.name)
def theirs(request: pytest.FixtureRequest) -> Client:
    found: Client = request.param
    return found


@pytest.fixture(scope="module")
def new_topic(bootstrap: str) -> Iterator[NewTopic]:
    with barnabas.Admin(bootstrap) as admin:

        def create(partitions: int = 1) -> str:
            name = f"t-{uuid4().hex[:10]}"
            admin.create_topic(name, partitions=partitions)
            return name

        yield create


# -- records -------------------------------------------------------------------------------------


def assorted(partition: int) -> list[Record]:
    """Keys, values and headers of all sorts, null and empty ones among them."""
    keys = [b"", b"key", "schl\u00fcssel".encode(), None]
    headers: list[Headers] = [(), (("trace", b"\x00\xff"),), (("a", b"1"), ("a", b"2"), ("b", b""))]
    values = [None, b"", b"some text, " * 40, b"unkeyed"]
    return [
        Record(partition, i, keys[i % 4], values[i % 4], headers[i % 3], BEGIN_MS + i * 10)
        for i in range(48)
    ]


def write_and_read(writer: Client, reader: Client, bootstrap: str, topic: str) -> None:
    """A partition for each compression."""
    for partition, compression in enumerate(COMPRESSIONS):
        sent = assorted(partition)
        with writer.producer(bootstrap, compression=compression) as producer:
            for r in sent:
                producer.send(
                    topic,
                    r.value,
                    key=r.key,
                    partition=partition,
                    headers=r.headers,
                    timestamp_ms=r.timestamp_ms,
                )
            outcomes = producer.flush()
        assert [(each.partition, each.offset) for each in outcomes] == [
            (partition, offset) for offset in range(len(sent))
        ]
    with reader.consumer(bootstrap) as consumer:
        consumer.assign(topic, dict.fromkeys(range(len(COMPRESSIONS)), 0))
        found = consumer.read(48 * len(COMPRESSIONS))
    for partition in range(len(COMPRESSIONS)):
        assert [each for each in found if each.partition == partition] == assorted(partition)


def test_what_ours_writes_they_read(theirs: Client, bootstrap: str, new_topic: NewTopic) -> None:
    write_and_read(OWN, theirs, bootstrap, new_topic(len(COMPRESSIONS)))


def test_what_they_write_ours_reads(theirs: Client, bootstrap: str, new_topic: NewTopic) -> None:
    write_and_read(theirs, OWN, bootstrap, new_topic(len(COMPRESSIONS)))


# -- partitions ----------------------------------------------------------------------------------


def partitions_by(client: Client, bootstrap: str, topic: str, keys: list[bytes]) -> list[int]:
    with client.producer(bootstrap) as producer:
        for key in keys:
            producer.send(topic, b"", key=key)
        return [outcome.partition for outcome in producer.flush()]


def partitions_by_librdkafka(bootstrap: str, topic: str, keys: list[bytes]) -> list[int]:
    """By the hash that it shares with the others, if it is told so."""
    producer = ConfluentProducer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
    found: dict[bytes, int] = {}
    for key in keys:
        producer.produce(
            topic, b"", key, on_delivery=lambda _, m: found.setdefault(m.key(), m.partition())
        )
    assert producer.flush(LIMIT_S) == 0
    return [found[key] for key in keys]


@pytest.mark.parametrize("partitions", [3, 16])
def test_the_same_key_has_the_same_partition(
    bootstrap: str, new_topic: NewTopic, partitions: int
) -> None:
    dice = random.Random(partitions)
    keys = [dice.randbytes(length) for length in range(40) for _ in range(5)]
    keys = list(dict.fromkeys([b"k", *keys[5:], "schl\u00fcssel".encode()]))
    topic = new_topic(partitions)
    ours = partitions_by(OWN, bootstrap, topic, keys)
    assert len(set(ours)) == partitions
    assert ours == partitions_by(KafkaPython(), bootstrap, topic, keys)
    assert ours == partitions_by(AioKafka(), bootstrap, topic, keys)
    assert ours == partitions_by_librdkafka(bootstrap, topic, keys)


# -- groups --------------------------------------------------------------------------------------

PARTITIONS = 6
Join = Callable[[Client], Member]


@pytest.fixture
def join(bootstrap: str, new_topic: NewTopic) -> Iterator[Join]:
    """Starts members of one group, of any library."""
    topic = new_topic(PARTITIONS)
    with ExitStack() as stack:

        def start(client: Client) -> Member:
            def open_consumer() -> object:
                return client.consumer(bootstrap, topic, strategy="range")

            return stack.enter_context(Member(open_consumer, topic, commits=True))

        start.topic = topic  # type: ignore[attr-defined]
        yield start


def produce(bootstrap: str, topic: str, count: int) -> None:
    with OWN.producer(bootstrap) as producer:
        for i in range(count):
            producer.send(topic, b"%d" % i, partition=i % PARTITIONS)
        assert all(outcome.error is None for outcome in producer.flush())


@pytest.mark.parametrize(
    "order",
    [
        [OWN, Confluent(), KafkaPython()],
        [Confluent(), OWN, KafkaPython()],
        [KafkaPython(), OWN, Confluent()],
    ],
    ids=["ours assigns", "librdkafka assigns", "kafka-python assigns"],
)
def test_a_group_of_all_sorts_shares_the_work(
    bootstrap: str, join: Join, order: list[Client]
) -> None:
    """The first one is the leader, which shares out the partitions for all."""
    topic: str = join.topic  # type: ignore[attr-defined]
    members = [join(order[0])]
    wait_for_shares(members, [6])
    members += [join(client) for client in order[1:]]
    wait_for_shares(members, [2, 2, 2])
    produce(bootstrap, topic, 120)
    wait_until(lambda: sum(len(m.records) for m in members) >= 120, "not everything was read")
    seen = [(r.partition, r.offset) for member in members for r in member.records]
    assert sorted(seen) == [(p, o) for p in range(PARTITIONS) for o in range(20)]
    members.pop(0).leave()
    wait_for_shares(members, [3, 3])
    produce(bootstrap, topic, 120)
    wait_until(lambda: sum(len(m.records) for m in members) >= 200, "not everything was read")
    new = [(r.partition, r.offset) for m in members for r in m.records if r.offset >= 20]
    assert sorted(new) == [(p, o) for p in range(PARTITIONS) for o in range(20, 40)]


def test_what_one_commits_is_where_the_other_goes_on(
    theirs: Client, bootstrap: str, new_topic: NewTopic
) -> None:
    for first, second in ((OWN, theirs), (theirs, OWN)):
        topic = new_topic(1)
        with OWN.producer(bootstrap) as producer:
            for i in range(30):
                producer.send(topic, b"%d" % i)
            producer.flush()
        with first.consumer(bootstrap, topic) as consumer:
            consumer.subscribe([topic])
            consumer.read(30)
            consumer.commit(topic, {0: 20})
        with second.consumer(bootstrap, topic) as consumer:
            consumer.subscribe([topic])
            assert [r.offset for r in consumer.read(10)] == list(range(20, 30))
            assert consumer.committed(topic, 0) == 20


# -- transactions --------------------------------------------------------------------------------


def test_what_is_rolled_back_is_seen_by_nobody(
    theirs: Client, bootstrap: str, new_topic: NewTopic
) -> None:
    for writer, reader in ((OWN, theirs), (theirs, OWN)):
        topic = new_topic(1)
        with writer.producer(bootstrap, transactional_id=topic) as producer:
            for ends_well, value in ((True, b"a"), (False, b"b"), (True, b"c")):
                producer.begin()
                for _ in range(3):
                    producer.send(topic, value, partition=0)
                producer.flush()
                if ends_well:
                    producer.commit()
                else:
                    producer.abort()
        with reader.consumer(bootstrap, isolation="read_committed") as consumer:
            consumer.assign(topic, {0: 0})
            assert [r.value for r in consumer.read(6)] == [b"a"] * 3 + [b"c"] * 3
        with reader.consumer(bootstrap, isolation="read_uncommitted") as consumer:
            consumer.assign(topic, {0: 0})
            assert [r.value for r in consumer.read(9)] == [b"a"] * 3 + [b"b"] * 3 + [b"c"] * 3
