"""The administration calls of every library, checked by what they change."""

from collections.abc import Iterator

import pytest

from tests.foreign_clients.conftest import NewTopic
from tests.foreign_clients.face import Admin, Client
from tests.support.wait import wait_until


@pytest.fixture
def admin(client: Client, bootstrap: str) -> Iterator[Admin]:
    with client.admin(bootstrap) as opened:
        yield opened


def create(admin: Admin, name: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic and wait until it is known: Kafka's brokers learn of it a little later."""
    admin.create_topic(name, partitions, {k.replace("_", "."): v for k, v in configs.items()})
    wait_until(lambda: name in admin.topics(), "the topic is not listed")


def fill(client: Client, bootstrap: str, topic: str, count: int) -> None:
    with client.producer(bootstrap) as producer:
        for i in range(count):
            producer.send(topic, b"%d" % i, partition=0)
        assert all(outcome.error is None for outcome in producer.flush())


def test_create_describe_list_and_delete_a_topic(admin: Admin, name: str) -> None:
    assert name not in admin.topics()
    create(admin, name, 3, retention_ms="3600000")
    assert admin.partition_count(name) == 3
    assert admin.topic_configs(name)["retention.ms"] == "3600000"
    admin.delete_topic(name)
    wait_until(lambda: name not in admin.topics(), "the topic is still listed")


def test_a_topic_that_exists_is_not_created_again(admin: Admin, name: str) -> None:
    create(admin, name)
    with pytest.raises(Exception, match=r"(?i)already.?exists"):
        admin.create_topic(name)


@pytest.mark.parametrize("bad", ["a/b", "..", "x" * 250])
def test_a_bad_name_is_refused(admin: Admin, bad: str) -> None:
    with pytest.raises(Exception, match=r"(?i)invalid|topic_exception"):
        admin.create_topic(bad)


def test_a_bad_config_is_refused(admin: Admin, name: str) -> None:
    with pytest.raises(Exception, match=r"(?i)config"):
        admin.create_topic(name, 1, {"retention.ms": "soon"})
    assert name not in admin.topics()


def test_an_unknown_topic_is_not_deleted(admin: Admin, name: str) -> None:
    with pytest.raises(Exception, match=r"(?i)unknown"):
        admin.delete_topic(name)


def test_what_a_deleted_topic_held_is_gone(
    client: Client, admin: Admin, bootstrap: str, name: str
) -> None:
    create(admin, name)
    fill(client, bootstrap, name, 10)
    admin.delete_topic(name)
    wait_until(lambda: name not in admin.topics(), "the topic is still listed")
    create(admin, name)
    with client.consumer(bootstrap) as consumer:
        assert consumer.bounds(name, 0) == (0, 0)


def test_add_partitions(client: Client, admin: Admin, bootstrap: str, name: str) -> None:
    create(admin, name, 2)
    admin.create_partitions(name, 5)
    wait_until(lambda: admin.partition_count(name) == 5, "there are no new partitions")
    with client.producer(bootstrap) as producer:
        producer.send(name, b"new", partition=4)
        (outcome,) = producer.flush()
        assert (outcome.error, outcome.offset) == (None, 0)
    with pytest.raises(Exception, match=r"(?i)partition"):
        admin.create_partitions(name, 3)
    assert admin.partition_count(name) == 5


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated")
def test_replace_configs(admin: Admin, name: str) -> None:
    create(admin, name, retention_ms="3600000")
    default = admin.topic_configs(name)["segment.bytes"]
    admin.replace_configs(name, {"segment.bytes": "1048576", "cleanup.policy": "compact"})
    assert default != "1048576"
    wait_until(
        lambda: admin.topic_configs(name)["segment.bytes"] == "1048576", "nothing has changed"
    )
    configs = admin.topic_configs(name)
    assert configs["cleanup.policy"] == "compact"
    assert configs["retention.ms"] != "3600000"


def test_change_one_config(admin: Admin, name: str) -> None:
    create(admin, name, retention_ms="3600000")
    default = admin.topic_configs(name)["segment.bytes"]

    def segment_bytes_are(value: str) -> bool:
        return admin.topic_configs(name)["segment.bytes"] == value

    admin.change_config(name, "segment.bytes", "1048576")
    wait_until(lambda: segment_bytes_are("1048576"), "nothing has changed")
    assert admin.topic_configs(name)["retention.ms"] == "3600000"
    admin.change_config(name, "segment.bytes", None)
    wait_until(lambda: segment_bytes_are(default), "nothing was taken back")
    with pytest.raises(Exception, match=r"(?i)config|segment"):
        admin.change_config(name, "segment.bytes", "many")


def test_delete_records(client: Client, admin: Admin, bootstrap: str, name: str) -> None:
    create(admin, name)
    fill(client, bootstrap, name, 50)
    admin.delete_records(name, {0: 20})
    with client.consumer(bootstrap) as consumer:
        assert consumer.bounds(name, 0) == (20, 50)
        consumer.assign(name, {0: 20})
        assert [r.offset for r in consumer.read(30)] == list(range(20, 50))
    admin.delete_records(name, {0: -1})
    with client.consumer(bootstrap) as consumer:
        assert consumer.bounds(name, 0) == (50, 50)
    with pytest.raises(Exception, match=r"(?i)range"):
        admin.delete_records(name, {0: 51})


def test_list_offsets(client: Client, admin: Admin, bootstrap: str, name: str) -> None:
    create(admin, name)
    fill(client, bootstrap, name, 7)
    assert admin.list_offsets(name, 0) == (0, 7)


def test_describe_cluster(admin: Admin, bootstrap: str) -> None:
    ((_, host, port),) = admin.nodes()
    assert f"{host}:{port}".replace("localhost", "127.0.0.1") == bootstrap.replace(
        "localhost", "127.0.0.1"
    )


def test_list_describe_and_delete_a_group(
    client: Client, admin: Admin, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(2)
    group = f"{topic}-readers"
    assert group not in admin.groups()
    with client.consumer(bootstrap, group) as consumer:
        consumer.subscribe([topic])
        wait_until(lambda: consumer.poll() or consumer.assigned(), "nothing is assigned")
        wait_until(lambda: admin.describe_group(group)[0] == "Stable", "the group is not stable")
        assert admin.describe_group(group) == ("Stable", 1)
        assert group in admin.groups()
        consumer.commit(topic, {0: 3, 1: 4}, "half way")
        assert admin.group_offsets(group, topic) == {0: 3, 1: 4}
    wait_until(lambda: admin.describe_group(group) == ("Empty", 0), "the group is not empty")
    admin.delete_group(group)
    assert group not in admin.groups()
