"""Topics come, grow, go and come back, on the wire and on the disk."""

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponseTopic,
)
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BROKER,
    DELETE,
    SET,
    alter,
    create_topic,
    delete_topic,
    produce,
    produced,
    stored,
)
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

SETTINGS = {
    "auto.create.topics.enable": "false",
    "num.partitions": "2",
    "offsets.topic.num.partitions": "3",
}


def describe(
    client: RawClient, name: str, *, create: bool = False, version: int | None = None
) -> MetadataResponseTopic:
    request = MetadataRequest([MetadataRequestTopic(name=name)], create or version == 0)
    (topic,) = client.ask(request, version).topics
    return topic


def directories(node: BrokerProcess, topic: str) -> list[str]:
    return sorted(path.name for path in node.data.iterdir() if topic in path.name)


# -- creating --------------------------------------------------------------------------------------


def test_a_topic_is_there_at_once(client: RawClient, topic: str) -> None:
    created = create_topic(client, topic, 3)
    assert (created.num_partitions, created.replication_factor) == (3, 1)
    described = describe(client, topic)
    assert (described.error_code, described.topic_id) == (0, created.topic_id)
    assert [p.partition_index for p in described.partitions] == [0, 1, 2]
    assert all((p.leader_id, p.isr_nodes) == (1, [1]) for p in described.partitions)


def test_nothing_happens_when_only_validating(client: RawClient, topic: str) -> None:
    request = CreateTopicsRequest([CreatableTopic(topic, 1, 1)], validate_only=True)
    assert client.ask(request).topics[0].error_message is None
    assert client.ask(request).topics[0].error_code == 0
    assert describe(client, topic).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["__cluster_metadata", "__consumer_offsets"])
def test_clients_do_not_make_the_brokers_own_topics(client: RawClient, name: str) -> None:
    """They would share a directory with the broker's own log, or lack its settings."""
    (result,) = client.ask(CreateTopicsRequest([CreatableTopic(name, 1, 1)])).topics
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_no_topic_blocks_the_groups(client: RawClient) -> None:
    """'.' and '_' count as the same, so this name would keep the groups' topic out."""
    request = CreateTopicsRequest([CreatableTopic("__consumer.offsets", 1, 1)])
    assert client.ask(request).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    found = client.ask(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators
    assert [one.error_code for one in found] == [0]
    offsets = describe(client, "__consumer_offsets")
    assert (offsets.is_internal, len(offsets.partitions)) == (True, 3)


# -- auto-creation ---------------------------------------------------------------------------------


def test_a_topic_comes_into_being_when_both_sides_allow_it(client: RawClient, topic: str) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert describe(client, topic, create=True).error_code == unknown
    assert alter(client, (BROKER, "1"), ("auto.create.topics.enable", SET, "true"))[0] == 0
    try:
        assert describe(client, topic, create=False).error_code == unknown
        created = describe(client, topic, create=True)
        assert (created.error_code, len(created.partitions)) == (0, 2)
        assert len(describe(client, f"{topic}-old", version=0).partitions) == 2
        bad = describe(client, "not/legal", create=True)
        assert bad.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        own = describe(client, "__cluster_metadata", create=True)
        assert own.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        # The groups' topic is made as the groups need it, not like just any topic.
        assert len(describe(client, "__consumer_offsets", create=True).partitions) == 3
    finally:
        alter(client, (BROKER, "1"), ("auto.create.topics.enable", DELETE, None))


def test_producing_creates_nothing(client: RawClient, topic: str) -> None:
    answer = produce(client, topic, batch(b"a"))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- growing ---------------------------------------------------------------------------------------


def test_a_topic_grows(client: RawClient, topic: str, node: BrokerProcess) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"a"))
    request = CreatePartitionsRequest([CreatePartitionsTopic(topic, 3, None)], 1000)
    assert client.ask(request).results[0].error_code == 0
    assert len(describe(client, topic).partitions) == 3
    assert produced(client, topic, batch(b"b"), partition=2) == 0
    assert stored(client, topic) == [b"a"]
    assert directories(node, topic) == [f"{topic}-{index}" for index in range(3)]


# -- going -----------------------------------------------------------------------------------------


def test_a_deleted_topic_leaves_nothing(client: RawClient, topic: str, node: BrokerProcess) -> None:
    create_topic(client, topic, 2)
    produced(client, topic, batch(b"a"))
    delete_topic(client, topic)
    assert describe(client, topic).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answer = produce(client, topic, batch(b"a"))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    wait_until(lambda: not directories(node, topic), "the directories are still there")


def test_a_topic_of_the_same_name_is_another_one(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    old = create_topic(client, topic, retention_ms="5").topic_id
    produced(client, topic, batch(b"old"))
    delete_topic(client, topic)
    new = create_topic(client, topic).topic_id
    assert new != old
    assert stored(client, topic) == []
    assert produced(client, topic, batch(b"new")) == 0
    by_id = DeleteTopicsRequest([DeleteTopicState(None, old)])
    assert client.ask(by_id).responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    wait_until(lambda: directories(node, topic) == [f"{topic}-0"], "old directories stay")
    node.restart(kill=True)
    with RawClient(node.host, node.port) as again:
        assert describe(again, topic).topic_id == new
        assert stored(again, topic) == [b"new"]


def test_deleting_by_id(client: RawClient, topic: str) -> None:
    topic_id = create_topic(client, topic).topic_id
    request = DeleteTopicsRequest([DeleteTopicState(None, topic_id)])
    (answer,) = client.ask(request).responses
    assert (answer.error_code, answer.name) == (0, topic)
    assert describe(client, topic).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_deleting_can_be_switched_off(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    assert alter(client, (BROKER, ""), ("delete.topic.enable", SET, "false"))[0] == 0
    try:
        request = DeleteTopicsRequest(topic_names=[topic])
        answer = client.ask(request, 5).responses[0]
        assert answer.error_code == ErrorCode.TOPIC_DELETION_DISABLED
        assert "delete.topic.enable" in answer.error_message
    finally:
        alter(client, (BROKER, ""), ("delete.topic.enable", DELETE, None))
    assert describe(client, topic).error_code == 0


# -- describing ------------------------------------------------------------------------------------


def test_page_by_page(client: RawClient, topic: str) -> None:
    for suffix in "abc":
        create_topic(client, f"{topic}-{suffix}", 3)
    seen: list[tuple[str, int]] = []
    request = DescribeTopicPartitionsRequest(response_partition_limit=2)
    while True:
        page = client.ask(request)
        indexes = [
            (shown.name, partition.partition_index)
            for shown in page.topics
            for partition in shown.partitions
        ]
        assert len(indexes) <= 2
        seen += indexes
        if page.next_cursor is None:
            break
        request.cursor = page.next_cursor
    assert seen == sorted(seen)
    mine = [entry for entry in seen if entry[0].startswith(topic)]
    assert mine == [(f"{topic}-{suffix}", index) for suffix in "abc" for index in range(3)]


@pytest.mark.long
def test_a_thousand_topics(client: RawClient, node: BrokerProcess) -> None:
    names = [f"many-{number}" for number in range(1000)]
    for at in range(0, 1000, 250):
        topics = [CreatableTopic(name, 1, 1) for name in names[at : at + 250]]
        created = client.ask(CreateTopicsRequest(topics)).topics
        assert not any(result.error_code for result in created)
    before = node.cpu()
    for version in (0, 1, 9, 12, 13) * 4:
        every = client.ask(MetadataRequest(None if version else []), version).topics
        assert {topic.name for topic in every} >= set(names)
    # Answers are kept encoded: 20 of them must cost next to nothing.
    assert node.cpu() - before < 0.8
    assert produced(client, names[-1], batch(b"a")) == 0
    delete = DeleteTopicsRequest(topic_names=names)
    assert not any(result.error_code for result in client.ask(delete, 5).responses)
    (gone,) = client.ask(MetadataRequest([MetadataRequestTopic(name="many-7")])).topics
    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
