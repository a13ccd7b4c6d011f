"""Admin, in both faces: topics, configurations, offsets, groups and the cluster itself."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import confluent_kafka
import pytest

import barnabas
from barnabas import Admin, TopicPartition
from barnabas.errors import (
    BrokerError,
    BrokerUnreachable,
    GroupNotEmpty,
    InvalidArgument,
    OffsetOutOfRange,
    TopicExists,
    UnknownGroup,
    UnknownTopic,
)
from tests.support.wait import LIMIT_S


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin(bootstrap) as admin:
        yield admin


@pytest.fixture
def topic(admin: Admin) -> str:
    """A topic with two partitions: 3 records in the first, one an hour apart from the next."""
    name = f"topic-{uuid4()}"
    admin.create_topic(name, partitions=2)
    return name


def fill(bootstrap: str, topic: str, times_ms: list[int], partition: int = 0) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    for time_ms in times_ms:
        producer.produce(topic, b"value", partition=partition, timestamp=time_ms)
    assert producer.flush(LIMIT_S) == 0


def test_a_topic_is_made_described_grown_and_deleted(admin: Admin) -> None:
    name = f"topic-{uuid4()}"
    with pytest.raises(UnknownTopic, match=name):
        admin.describe_topic(name)
    assert admin.create_topic(name, partitions=2, configs={"retention.ms": 60_000}) is True
    described = admin.describe_topic(name)
    assert admin.topics()[name] == described
    assert [each.partition for each in described.partitions] == [0, 1]
    assert all(each.leader in each.isr for each in described.partitions)
    assert described.replication_factor == 1
    assert not described.is_internal
    assert described.topic_partitions == [TopicPartition(name, 0), TopicPartition(name, 1)]
    admin.add_partitions(name, 3)
    assert len(admin.describe_topic(name).partitions) == 3
    admin.delete_topic(name)
    assert name not in admin.topics()


def test_what_is_there_already_or_no_more_is_an_error_unless_it_may_be(admin: Admin) -> None:
    name = f"topic-{uuid4()}"
    admin.create_topic(name)
    with pytest.raises(TopicExists, match="exist_ok=True"):
        admin.create_topic(name)
    assert admin.create_topic(name, exist_ok=True) is False
    admin.delete_topic(name)
    with pytest.raises(UnknownTopic):
        admin.delete_topic(name)
    admin.delete_topic(name, missing_ok=True)


def test_topics_of_brokers_own_are_shown_on_demand(admin: Admin, topic: str) -> None:
    admin.set_group_offsets(f"group-{uuid4()}", {TopicPartition(topic, 0): 0})
    assert "__consumer_offsets" not in admin.topics()
    assert admin.topics(internal=True)["__consumer_offsets"].is_internal


def test_what_no_broker_takes_is_said_by_the_broker(admin: Admin) -> None:
    with pytest.raises(BrokerError, match="INVALID_TOPIC_EXCEPTION"):
        admin.create_topic("no spaces, please")
    with pytest.raises(BrokerError, match="INVALID_PARTITIONS"):
        admin.create_topic("none", partitions=0)


def test_configurations_of_a_topic_are_set_and_unset(admin: Admin, topic: str) -> None:
    before = admin.configs(topic=topic)["retention.ms"]
    assert not before.is_own
    admin.set_configs({"retention.ms": 1_000, "unclean.leader.election.enable": True}, topic=topic)
    configs = admin.configs(topic=topic)
    assert configs["retention.ms"].value == "1000"
    assert configs["retention.ms"].is_own
    assert configs["unclean.leader.election.enable"].value == "true"
    admin.set_configs({"retention.ms": None}, topic=topic)
    assert admin.configs(topic=topic)["retention.ms"] == before
    assert admin.configs(topic=topic)["unclean.leader.election.enable"].value == "true"


def test_configurations_of_a_broker(admin: Admin) -> None:
    (broker, *_) = admin.cluster().brokers
    assert admin.configs(broker=broker.node_id)["num.partitions"].value is not None
    with pytest.raises(InvalidArgument, match="there is no broker '4711'"):
        admin.configs(broker=4711)


def test_whose_configurations_has_to_be_said(admin: Admin) -> None:
    with pytest.raises(InvalidArgument, match="topic=NAME, broker=NUMBER or group=NAME"):
        admin.configs()
    with pytest.raises(InvalidArgument, match="topic=NAME, broker=NUMBER or group=NAME"):
        admin.set_configs({}, topic="t", broker=1)


def test_offsets_at_the_ends_and_at_a_time(bootstrap: str, admin: Admin, topic: str) -> None:
    start = datetime.now(UTC) - timedelta(hours=3)
    hours = [start + timedelta(hours=number) for number in range(3)]
    fill(bootstrap, topic, [int(each.timestamp() * 1000) for each in hours])
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert admin.offsets(topic) == {first: 3, second: 0}
    assert admin.offsets(topic, "earliest") == {first: 0, second: 0}
    assert admin.offsets(topic, hours[1] - timedelta(minutes=1)) == {first: 1, second: 0}
    assert admin.offsets(topic, datetime.now(UTC)) == {first: 3, second: 0}
    assert admin.offsets(topic, isolation="read_committed") == {first: 3, second: 0}


def test_a_moment_without_a_time_zone_is_refused(admin: Admin) -> None:
    with pytest.raises(InvalidArgument, match=r"at=.* has no time zone"):
        admin.offsets("t", datetime(2024, 1, 1))  # noqa: DTZ001
    with pytest.raises(InvalidArgument, match='at is "earliest", "latest" or a datetime'):
        admin.offsets("t", "beginning")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match='isolation is "read_committed" or'):
        admin.offsets("t", isolation="serializable")  # type: ignore[arg-type]


def test_records_are_deleted_before_an_offset_or_all(
    bootstrap: str, admin: Admin, topic: str
) -> None:
    fill(bootstrap, topic, [0, 1, 2])
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert admin.delete_records({first: 2}) == {first: 2}
    assert admin.offsets(topic, "earliest") == {first: 2, second: 0}
    with pytest.raises(OffsetOutOfRange):
        admin.delete_records({first: 99})
    assert admin.delete_records(topic) == {first: 3, second: 0}


def test_a_group_that_has_committed_nothing_has_everything_before_it(
    bootstrap: str, admin: Admin, topic: str
) -> None:
    group, first = f"group-{uuid4()}", TopicPartition(topic, 0)
    fill(bootstrap, topic, [0, 1, 2])
    admin.delete_records({first: 1})
    with barnabas.Consumer(bootstrap, topic, group=group, commit="manual") as consumer:
        assert len(consumer.poll(60)) == 2
        described = admin.describe_group(group)
        assert described.offsets[first].committed is None
        assert (described.offsets[first].lag, described.lag) == (2, 2)
        consumer.commit({first: 0})  # what lies before the beginning is no longer left to be read
        assert admin.describe_group(group).lag == 2


def test_lag_counts_partitions_that_the_group_never_committed(
    bootstrap: str, admin: Admin, topic: str
) -> None:
    group = f"group-{uuid4()}"
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with barnabas.Producer(bootstrap) as producer:
        for number in range(35):
            producer.send(topic, b"%d" % number, partition=0 if number < 5 else 1)
    admin.set_group_offsets(group, {first: 0})
    described = admin.describe_group(group)
    assert described.offsets[second].committed is None
    assert (described.offsets[second].lag, described.lag) == (30, 35)


def test_a_group_with_members_is_described(bootstrap: str, admin: Admin, topic: str) -> None:
    group = f"group-{uuid4()}"
    fill(bootstrap, topic, [0, 1, 2])
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    )
    with closing(consumer):
        consumer.subscribe([topic])
        while (message := consumer.poll(60)) is None or message.error():
            pass
        consumer.commit(message, asynchronous=False)
        described = admin.describe_group(group)
        assert described.state == "Stable"
        (member,) = described.members
        first = described.offsets[TopicPartition(topic, 0)]
        assert (first.committed, first.end, first.lag) == (1, 3, 2)
        assert first.member_id == member.member_id
        second = described.offsets[TopicPartition(topic, 1)]
        assert (second.committed, second.lag) == (None, 0)
        assert described.lag == 2
        assert admin.groups()[group].state == "Stable"
        with pytest.raises(GroupNotEmpty, match="stop its consumers"):
            admin.set_group_offsets(group, "earliest")
        with pytest.raises(GroupNotEmpty):
            admin.delete_group(group)
    admin.delete_group(group)
    with pytest.raises(UnknownGroup, match=group):
        admin.describe_group(group)
    with pytest.raises(UnknownGroup):
        admin.delete_group(group)
    admin.delete_group(group, missing_ok=True)


def test_offsets_of_a_group_are_set(bootstrap: str, admin: Admin, topic: str) -> None:
    group = f"group-{uuid4()}"
    start = datetime.now(UTC) - timedelta(hours=3)
    hours = [start + timedelta(hours=number) for number in range(3)]
    fill(bootstrap, topic, [int(each.timestamp() * 1000) for each in hours])
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert admin.group_offsets(group) == {}
    with pytest.raises(InvalidArgument, match="has committed nothing: name the topics"):
        admin.set_group_offsets(group, "latest")
    assert admin.set_group_offsets(group, {first: 2}) == {first: 2}
    assert admin.group_offsets(group) == {first: 2}
    assert admin.set_group_offsets(group, hours[1]) == {first: 1}
    both = {first: 3, second: 0}
    assert admin.set_group_offsets(group, "latest", topics=topic) == both
    assert admin.group_offsets(group) == both
    assert admin.set_group_offsets(group, "earliest", topics=[topic]) == {first: 0, second: 0}
    assert admin.describe_group(group).lag == 3
    with pytest.raises(OffsetOutOfRange, match=f"{first}: its log ends at 3"):
        admin.set_group_offsets(group, {second: 0, first: 4})
    with pytest.raises(InvalidArgument, match="at least 0"):
        admin.set_group_offsets(group, {first: -1})
    with pytest.raises(UnknownTopic):
        admin.set_group_offsets(group, {TopicPartition(topic, 2): 0})
    assert admin.group_offsets(group) == {first: 0, second: 0}


def test_a_group_at_work_is_not_moved_even_if_it_has_committed_nothing(
    bootstrap: str, admin: Admin, topic: str
) -> None:
    group = f"group-{uuid4()}"
    fill(bootstrap, topic, [1])
    with barnabas.Consumer(bootstrap, topic, group=group, commit="manual") as consumer:
        assert consumer.poll(60)
        with pytest.raises(GroupNotEmpty):
            admin.set_group_offsets(group, "earliest")


def test_partitions_that_are_there_already(admin: Admin, topic: str) -> None:
    with pytest.raises(BrokerError, match="has 2 partitions already; give the new total"):
        admin.add_partitions(topic, 2)


def test_the_cluster(admin: Admin, bootstrap: str) -> None:
    cluster = admin.cluster()
    assert cluster.cluster_id
    assert cluster.controller_id in [each.node_id for each in cluster.brokers]
    assert bootstrap.rpartition(":")[2] in [str(each.address.port) for each in cluster.brokers]


def test_for_asyncio_everything_is_the_same(bootstrap: str) -> None:
    async def use() -> None:
        name = f"topic-{uuid4()}"
        async with barnabas.aio.Admin(bootstrap) as admin:
            await admin.create_topic(name, partitions=2)
            topics, cluster, offsets = await asyncio.gather(
                admin.topics(), admin.cluster(), admin.offsets(name)
            )
            assert len(topics[name].partitions) == 2
            assert cluster.brokers
            assert offsets == {TopicPartition(name, 0): 0, TopicPartition(name, 1): 0}
            with pytest.raises(UnknownGroup):
                await admin.describe_group(f"group-{uuid4()}")

    asyncio.run(use())


def test_many_threads_share_one(admin: Admin, topic: str) -> None:
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(topic in admin.topics())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_a_broker_that_is_not_there_is_said_at_once() -> None:
    with (
        Admin("localhost:1") as admin,
        pytest.raises(BrokerUnreachable, match=r"localhost:1 \(connection refused\).*bootstrap_s"),
    ):
        admin.topics()


def test_an_address_that_is_none_is_refused_before_anything_is_tried() -> None:
    with pytest.raises(InvalidArgument, match="HOST:PORT"):
        Admin("localhost:port")
