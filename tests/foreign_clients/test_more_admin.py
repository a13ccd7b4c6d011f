"""Calls that only one of the libraries offers."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)
from kafka import KafkaAdminClient, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePatternFilter,
)
from kafka.admin import ResourceType as TheirResourceType
from kafka.errors import SecurityDisabledError

from tests.foreign_clients.confluent import Confluent
from tests.foreign_clients.conftest import NewTopic
from tests.foreign_clients.kafka_python import KafkaPython
from tests.foreign_clients.members import Member, wait_for_shares
from tests.support.wait import LIMIT_S


@pytest.fixture
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    opened = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield opened
    opened.close()


@pytest.fixture
def topic(bootstrap: str, new_topic: NewTopic) -> str:
    """Two partitions with ten records in each."""
    created = new_topic(2)
    with Confluent().producer(bootstrap) as producer:
        for i in range(20):
            producer.send(created, b"x" * 100, partition=i % 2)
        producer.flush()
    return created


def test_describe_log_dirs(admin: KafkaAdminClient, topic: str) -> None:
    (broker,) = admin.describe_log_dirs()
    (directory,) = broker["log_dirs"]
    assert directory["error_code"] == 0
    (found,) = (t for t in directory["topics"] if t["name"] == topic)
    sizes = {p["partition_index"]: p["partition_size"] for p in found["partitions"]}
    assert sizes.keys() == {0, 1}
    assert all(size > 1000 for size in sizes.values())


def test_what_needs_security_answers_without(admin: KafkaAdminClient, bootstrap: str) -> None:
    any_of_theirs = ACLFilter(
        None,
        None,
        ACLOperation.ANY,
        ACLPermissionType.ANY,
        ResourcePatternFilter(TheirResourceType.ANY, None, ACLResourcePatternType.ANY),
    )
    with pytest.raises(SecurityDisabledError):
        admin.describe_acls(any_of_theirs)
    client = AdminClient({"bootstrap.servers": bootstrap})
    any_acl = AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    assert client.describe_acls(any_acl).result(LIMIT_S) == []
    assert client.describe_user_scram_credentials().result(LIMIT_S) == {}
    with pytest.raises(KafkaException) as missing:
        client.describe_user_scram_credentials(["ann"])["ann"].result(LIMIT_S)
    assert missing.value.args[0].code() == KafkaError.RESOURCE_NOT_FOUND


def test_mirrors_sync_settings(bootstrap: str, topic: str) -> None:
    """Mirror Maker sets what differs, and deletes every setting that is a default elsewhere."""
    client = AdminClient({"bootstrap.servers": bootstrap})

    def change(name: str, operation: AlterConfigOpType, value: str | None = None) -> ConfigEntry:
        return ConfigEntry(name, value, incremental_operation=operation)

    resource = ConfigResource(
        ResourceType.TOPIC,
        topic,
        incremental_configs=[
            change("retention.ms", AlterConfigOpType.SET, "1234567"),
            change("preallocate", AlterConfigOpType.SET, "true"),
            change("leader.replication.throttled.replicas", AlterConfigOpType.SET, "*"),
            change("message.format.version", AlterConfigOpType.DELETE),
            change("confluent.key.schema.validation", AlterConfigOpType.DELETE),
        ],
    )
    (changed,) = client.incremental_alter_configs([resource]).values()
    changed.result(LIMIT_S)
    (described,) = client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    configs = described.result(LIMIT_S)
    assert configs["retention.ms"].value == "1234567"
    assert configs["preallocate"].value == "true"
    assert configs["leader.replication.throttled.replicas"].value == "*"
    assert configs["segment.index.bytes"].value == "10485760"
    assert configs["segment.index.bytes"].is_default


def test_describe_topic_partitions_page_by_page(
    admin: KafkaAdminClient, new_topic: NewTopic
) -> None:
    topics = [new_topic(3), new_topic(3)]
    seen, cursor = [], None
    for _ in range(10):
        page = admin.describe_topic_partitions(topics, response_partition_limit=2, cursor=cursor)
        for described in page["topics"]:
            seen += [(described["name"], p["partition_index"]) for p in described["partitions"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [(topic, partition) for topic in sorted(topics) for partition in range(3)]


def test_alter_and_delete_the_offsets_of_a_group(
    admin: KafkaAdminClient, bootstrap: str, topic: str
) -> None:
    group = f"{topic}-readers"
    first, second = (TopicPartition(topic, partition) for partition in range(2))
    offsets = {first: OffsetAndMetadata(3, "three", -1), second: OffsetAndMetadata(4, "four", -1)}
    admin.alter_group_offsets(group, offsets)
    listed = admin.list_group_offsets({group: None})[group]
    assert {tp: (o.offset, o.metadata) for tp, o in listed.items()} == {
        first: (3, "three"),
        second: (4, "four"),
    }
    admin.delete_group_offsets(group, [first])
    assert list(admin.list_group_offsets({group: None})[group]) == [second]
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group)
    assert (consumer.committed(first), consumer.committed(second)) == (None, 4)
    consumer.close()


def test_the_offsets_of_a_group_with_members_are_not_altered(
    admin: KafkaAdminClient, bootstrap: str, topic: str
) -> None:
    def open_consumer() -> object:
        return KafkaPython().consumer(bootstrap, topic)

    with Member(open_consumer, topic, commits=False) as member:
        wait_for_shares([member], [2])
        changed = admin.alter_group_offsets(
            topic, {TopicPartition(topic, 0): OffsetAndMetadata(3, "", -1)}
        )
        (error,) = changed.values()
        assert error.__name__ in ("UnknownMemberIdError", "IllegalGenerationError")
        assert "NonEmptyGroupError" in admin.delete_groups([topic])[topic]


def test_a_subscription_by_pattern_finds_new_topics(bootstrap: str, new_topic: NewTopic) -> None:
    first = new_topic()
    prefix = first.rsplit("-", 1)[0]
    with Confluent().consumer(bootstrap, prefix) as consumer:
        consumer.subscribe([f"^{prefix}-.*"])
        second = new_topic()
        with Confluent().producer(bootstrap) as producer:
            for topic in (first, second):
                producer.send(topic, topic.encode(), partition=0)
            producer.flush()
        assert sorted(r.value or b"" for r in consumer.read(2)) == [first.encode(), second.encode()]
