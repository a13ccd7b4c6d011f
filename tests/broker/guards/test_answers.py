"""What a client with some of the rights is told, as by Kafka."""

import logging
from collections.abc import Iterator

import pytest

from barnabas.broker.handlers.describe_share_group_offsets import all_topics
from barnabas.broker.node import Node
from barnabas.groups.share.state import NamedPartitions
from barnabas.wire.acl_codes import (
    CLUSTER_NAME,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.primitives import WireError
from tests.broker.raw_client import batch
from tests.support.access import AUTHORIZER, LocalUser, allow

SETTINGS = AUTHORIZER

TOPIC, CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER
READ, WRITE, CREATE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE
DESCRIBE, DELETE = AclOperation.DESCRIBE, AclOperation.DELETE
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def alice(local_node: Node) -> Iterator[LocalUser]:
    user = LocalUser(local_node, "alice")
    user.rules()
    root = LocalUser(local_node, "root")
    root.ask(CreateTopicsRequest([CreatableTopic("u", 1, 1)]))
    yield user
    user.rules()


def topics(alice: LocalUser, *names: str, create: bool = False) -> dict[str | None, int]:
    request = MetadataRequest(
        [MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=create
    )
    return {topic.name: topic.error_code for topic in alice.ask(request).topics}


# -- Metadata --------------------------------------------------------------------------------------


def test_metadata_shows_what_may_be_described(alice: LocalUser) -> None:
    assert alice.ask(MetadataRequest(None)).topics == []
    alice.rules(allow(READ, TOPIC, "t"))
    assert [topic.name for topic in alice.ask(MetadataRequest(None)).topics] == ["t"]
    assert topics(alice, "t", "u", "nowhere") == {"t": 0, "u": DENIED, "nowhere": DENIED}


def test_a_topic_id_is_no_secret_but_its_name_is(alice: LocalUser) -> None:
    topic_id = alice.node.image.topics["t"].topic_id
    asked = [MetadataRequestTopic(topic_id, None), MetadataRequestTopic(b"\1" * 16, None)]
    answers = alice.ask(MetadataRequest(asked)).topics
    assert [(topic.name, topic.topic_id, topic.error_code) for topic in answers] == [
        (None, topic_id, DENIED),
        (None, b"\1" * 16, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


def test_creation_on_demand_needs_a_right(alice: LocalUser) -> None:
    alice.rules(allow(DESCRIBE, TOPIC, "*"), allow(CREATE, TOPIC, "new-1"))
    answers = topics(alice, "new-1", "new-2", create=True)
    assert answers["new-2"] == DENIED
    assert answers["new-1"] != DENIED
    assert "new-2" not in alice.node.image.topics
    alice.rules(allow(DESCRIBE, TOPIC, "*"), allow(CREATE, CLUSTER, CLUSTER_NAME))
    assert topics(alice, "new-2", create=True)["new-2"] != DENIED
    assert {"new-1", "new-2"} <= alice.node.image.topics.keys()


def test_authorized_operations_are_those_that_are_allowed(alice: LocalUser) -> None:
    alice.rules(allow(READ, TOPIC, "t"), allow(CREATE, CLUSTER, CLUSTER_NAME))
    asked = MetadataRequest([MetadataRequestTopic(name="t")])
    asked.include_topic_authorized_operations = True
    (topic,) = alice.ask(asked).topics
    assert topic.topic_authorized_operations == 1 << READ | 1 << DESCRIBE
    cluster = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert alice.ask(cluster).cluster_authorized_operations == 0, "it may not be described"
    alice.rules(allow(CREATE, CLUSTER, CLUSTER_NAME), allow(DESCRIBE, CLUSTER, CLUSTER_NAME))
    assert alice.ask(cluster).cluster_authorized_operations == 1 << CREATE | 1 << DESCRIBE


def test_authorized_operations_of_a_topic_that_does_not_exist_yet(alice: LocalUser) -> None:
    alice.rules(allow(WRITE, TOPIC, "later"))
    asked = MetadataRequest([MetadataRequestTopic(name="later")], allow_auto_topic_creation=False)
    asked.include_topic_authorized_operations = True
    (topic,) = alice.ask(asked).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert topic.topic_authorized_operations == 1 << WRITE | 1 << DESCRIBE


def test_pages_of_topics_show_what_may_be_described(alice: LocalUser) -> None:
    alice.rules(allow(DESCRIBE, TOPIC, "u"))
    (topic,) = alice.ask(DescribeTopicPartitionsRequest()).topics
    assert (topic.name, topic.topic_authorized_operations) == ("u", 1 << DESCRIBE)


# -- records ---------------------------------------------------------------------------------------


def produced(alice: LocalUser, names: list[str], acks: int = 1, version: int = 9) -> list[int]:
    data = [TopicProduceData(name, bytes(16), [_one()]) for name in names]
    response: ProduceResponse = alice.ask(ProduceRequest(None, acks, 1000, data), version)
    found = {topic.name: topic.partition_responses[0].error_code for topic in response.responses}
    return [found[name] for name in names]


def _one() -> PartitionProduceData:
    return PartitionProduceData(0, batch(b"a"))


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_records_are_stored_where_they_may_be(alice: LocalUser, version: int) -> None:
    ends = {name: alice.node.partitions.by_name[name][0].log.log_end_offset for name in "tu"}
    assert produced(alice, ["t"], version=version) == [DENIED]
    alice.rules(allow(WRITE, TOPIC, "t"))
    assert produced(alice, ["t"], version=version) == [0]
    assert produced(alice, ["u", "t"], version=version) == [DENIED, 0]
    after = {name: alice.node.partitions.by_name[name][0].log.log_end_offset for name in "tu"}
    assert after == {"t": ends["t"] + 2, "u": ends["u"]}


def test_by_topic_id_too(alice: LocalUser) -> None:
    ids = [alice.node.image.topics[name].topic_id for name in "tu"]
    alice.rules(allow(WRITE, TOPIC, "u"))
    for topic_id, error in zip(ids, (DENIED, 0), strict=True):
        request = ProduceRequest(None, 1, 1000, [TopicProduceData("", topic_id, [_one()])])
        (answer,) = alice.ask(request).responses
        assert (answer.topic_id, answer.partition_responses[0].error_code) == (topic_id, error)


def test_records_without_an_answer_end_the_connection(alice: LocalUser) -> None:
    with pytest.raises(WireError, match="acks=0 was refused"):
        produced(alice, ["t"], acks=0)


def test_records_of_a_transaction_need_a_right_on_its_id(alice: LocalUser) -> None:
    alice.rules(allow(WRITE, TOPIC, "t"))
    refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    records = bytearray(batch(b"a"))
    records[22] |= 0x10
    for transactional_id in ("mine", None):
        data = [TopicProduceData("t", bytes(16), [PartitionProduceData(0, bytes(records))])]
        answer = alice.ask(ProduceRequest(transactional_id, -1, 1000, data), 9)
        assert answer.responses[0].partition_responses[0].error_code == refused


def test_a_producer_id_needs_a_topic_to_write_to(alice: LocalUser) -> None:
    asked = InitProducerIdRequest(None, 60_000)
    assert alice.ask(asked).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    alice.rules(allow(AclOperation.IDEMPOTENT_WRITE, CLUSTER, CLUSTER_NAME))
    assert alice.ask(asked).error_code == 0
    alice.rules(allow(WRITE, TOPIC, "some-", pattern=PatternType.PREFIXED))
    assert alice.ask(asked).error_code == 0
    alice.rules(
        allow(WRITE, TOPIC, "some-", pattern=PatternType.PREFIXED),
        allow(WRITE, TOPIC, "*", permission=AclPermission.DENY),
    )
    assert alice.ask(asked).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def fetched(alice: LocalUser, *names: str, session: tuple[int, int]) -> tuple[int, dict[str, int]]:
    asked = [FetchTopic(name, partitions=[FetchPartition(0)]) for name in names]
    request = FetchRequest(
        session_id=session[0], session_epoch=session[1], topics=asked, max_wait_ms=0
    )
    answer = alice.ask(request, 12)
    return answer.session_id, {
        topic.topic: topic.partitions[0].error_code for topic in answer.responses
    }


def test_a_session_follows_the_rules(alice: LocalUser) -> None:
    alice.rules(allow(READ, TOPIC, "t"))
    session_id, answers = fetched(alice, "t", "u", session=(0, 0))
    assert answers == {"t": 0, "u": DENIED}
    _, answers = fetched(alice, session=(session_id, 1))
    assert answers["u"] == DENIED, "it is told as long as it is so"
    alice.rules(allow(READ, TOPIC, "*"))
    _, answers = fetched(alice, session=(session_id, 2))
    assert answers.get("u", 0) == 0, "it is read once it may be"
    alice.rules(allow(READ, TOPIC, "u"))
    _, answers = fetched(alice, session=(session_id, 3))
    assert answers["t"] == DENIED, "it is no longer read"
    bob = LocalUser(alice.node, "bob")
    assert fetched(bob, session=(session_id, 4)) == (0, {}), "a session is its user's alone"
    assert fetched(alice, session=(session_id, 4))[0] == session_id, "and goes on"


def test_a_denied_topic_is_not_known_to_exist(alice: LocalUser) -> None:
    assert fetched(alice, "t", "nowhere", session=(0, -1))[1] == {"t": DENIED, "nowhere": DENIED}
    alice.rules(allow(READ, TOPIC, "*"))
    assert fetched(alice, "t", "nowhere", session=(0, -1))[1] == {"t": 0, "nowhere": UNKNOWN}


# -- topics ----------------------------------------------------------------------------------------


def test_settings_of_a_new_topic_are_shown_to_those_who_may_see_them(alice: LocalUser) -> None:
    alice.rules(allow(CREATE, CLUSTER, CLUSTER_NAME))
    (made,) = alice.ask(CreateTopicsRequest([CreatableTopic("hidden", 1, 1)])).topics
    assert (made.error_code, made.num_partitions, made.configs) == (0, -1, None)
    assert made.topic_config_error_code == DENIED
    alice.rules(allow(CREATE, TOPIC, "shown"), allow(AclOperation.DESCRIBE_CONFIGS, TOPIC, "shown"))
    asked = [CreatableTopic("shown", 1, 1), CreatableTopic("not mine", 1, 1)]
    made, refused = alice.ask(CreateTopicsRequest(asked)).topics
    assert (made.error_code, made.num_partitions, bool(made.configs)) == (0, 1, True)
    assert (refused.error_code, refused.error_message) == (DENIED, "Authorization failed.")


def test_the_name_behind_an_id_is_told_to_those_who_may_see_it(alice: LocalUser) -> None:
    topic_id = alice.node.image.topics["u"].topic_id
    asked = DeleteTopicsRequest([DeleteTopicState(None, topic_id)])
    (answer,) = alice.ask(asked).responses
    assert (answer.name, answer.topic_id, answer.error_code) == (None, topic_id, DENIED)
    alice.rules(allow(DESCRIBE, TOPIC, "u"))
    (answer,) = alice.ask(asked).responses
    assert (answer.name, answer.error_code) == ("u", DENIED)
    alice.rules(allow(DELETE, CLUSTER, CLUSTER_NAME))
    (answer,) = alice.ask(asked).responses
    assert (answer.name, answer.error_code) == ("u", 0)


def test_an_id_that_this_node_does_not_know_is_not_passed_on(alice: LocalUser) -> None:
    """The controller is ahead of a node that lags, and the node's replicas outlive a topic."""
    LocalUser(alice.node, "root").ask(CreateTopicsRequest([CreatableTopic("kept", 1, 1)]))
    topic = alice.node.image.topics["kept"]
    topic_id = topic.topic_id
    del alice.node.image.topics_by_id[topic_id]
    try:
        (deleted,) = alice.ask(DeleteTopicsRequest([DeleteTopicState(None, topic_id)])).responses
        data = [TopicProduceData("", topic_id, [_one()])]
        (stored,) = alice.ask(ProduceRequest(None, 1, 1000, data)).responses
        asked = FetchRequest(topics=[FetchTopic("", topic_id, [FetchPartition(0)])])
        (read,) = alice.ask(asked).responses
    finally:
        alice.node.image.topics_by_id[topic_id] = topic
    assert "kept" in alice.node.image.topics
    assert (deleted.name, deleted.error_code) == (None, ErrorCode.UNKNOWN_TOPIC_ID)
    assert stored.partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert read.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


# -- the audit log ---------------------------------------------------------------------------------


def test_denials_are_logged_as_by_kafka(alice: LocalUser, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "barnabas.authorizer")
    carol = LocalUser(alice.node, "carol")
    carol.ask(MetadataRequest(None))
    assert not caplog.messages, "nothing was refused"
    for _ in range(100):
        topics(carol, "t")
    assert caplog.messages[0] == (
        "Principal = User:carol is Denied operation = DESCRIBE from host = 10.0.0.1 on resource = "
        "Topic:LITERAL:t for request = Metadata with resourceRefCount = 1 based on rule DefaultDeny"
    )
    assert len(caplog.messages) == 20, "not one line for each"
    topics(LocalUser(alice.node, "dave"), "t")
    assert len(caplog.messages) == 21, "others have lines of their own"


def test_what_a_client_writes_stays_on_its_line(
    alice: LocalUser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "barnabas.authorizer")
    erin = LocalUser(alice.node, "erin\nPrincipal = User:root")
    for name in ("a\nPrincipal = User:alice is Denied", "x" * 32_767, "caf\u00e9"):
        erin.ask(FindCoordinatorRequest(coordinator_keys=[name]))
    forged, long, plain = caplog.messages
    assert not any("\n" in line for line in caplog.messages)
    assert r"Group:LITERAL:a\nPrincipal = User:alice is Denied for request" in forged
    assert "Principal = User:erin\\nPrincipal" in forged
    assert len(long) < 600
    assert "Group:LITERAL:caf\u00e9 for request" in plain


# -- share groups ----------------------------------------------------------------------------------


def test_a_share_group_that_is_asked_for_twice_hides_topics_each_time(alice: LocalUser) -> None:
    """Whatever becomes of the group, only topics that may be described are shown."""
    alice.rules(allow(DESCRIBE, ResourceType.GROUP, "g"), allow(DESCRIBE, TOPIC, "t"))
    group, topic = DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic
    asked = [topic("t", [0]), topic("u", [0])]
    response = alice.ask(
        DescribeShareGroupOffsetsRequest([group("g", asked), group("g", asked)]), 1
    )
    assert len(response.groups) == 2
    for answered in response.groups:
        (refused,) = answered.topics
        assert refused.topic_name == "u"
        assert [each.error_code for each in refused.partitions] == [DENIED]


def test_all_topics_of_a_share_group_are_those_that_may_be_described(alice: LocalUser) -> None:
    alice.rules(allow(DESCRIBE, TOPIC, "t"))
    access = alice.node.authorization.of(alice.connection, "DescribeShareGroupOffsets")
    known = {
        bytes([at]) * 16: NamedPartitions(name, frozenset({0})) for at, name in enumerate("tu")
    }
    assert [each.topic_name for each in all_topics(known, access)] == ["t"]
