"""Decisions about topics: which records, which answer, nothing changed yet."""

from itertools import count

import pytest

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.controller.configs import BrokerSettings, TopicDefaults
from barnabas.controller.create_partitions import create_partitions
from barnabas.controller.decision import Decision
from barnabas.controller.topics import TopicPolicy, create_topics, delete_topics
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)

NODE = 7
CREATED = ErrorCode.NONE
RESERVED = ("__cluster_metadata", "__consumer_offsets", "__consumer.offsets", "__cluster.metadata")


class Controller:
    """An image, and decisions that are agreed on as soon as they are made."""

    def __init__(self) -> None:
        self.image = MetadataImage()
        self.image.replay(RegisterBrokerRecord(broker_id=NODE, fenced=False))
        self._ids = count(1)
        self.deletes = True

    @property
    def policy(self) -> TopicPolicy:
        defaults = TopicDefaults(self.image, BrokerSettings(NODE, BROKER_CONFIGS, {}))
        return TopicPolicy(
            NODE, 3, defaults, self.deletes, lambda: next(self._ids).to_bytes(16, "big")
        )

    def agree(self, decision: Decision[object]) -> None:
        for record in decision.records:
            self.image.replay(record)

    def create(self, *topics: CreatableTopic, internal: bool = False) -> list[int]:
        request = CreateTopicsRequest(list(topics))
        decision = create_topics(self.image, request, self.policy, internal=internal)
        self.agree(decision)
        assert [result.name for result in decision.answer.topics] == list(
            dict.fromkeys(t.name for t in topics)
        )
        for result in decision.answer.topics:
            assert bool(result.error_message) == bool(result.error_code)
        return [result.error_code for result in decision.answer.topics]

    def grow(self, *topics: CreatePartitionsTopic, validate_only: bool = False) -> list[int]:
        request = CreatePartitionsRequest(list(topics), 0, validate_only)
        decision = create_partitions(self.image, request)
        self.agree(decision)
        return [result.error_code for result in decision.answer.results]

    def delete(self, *names: str) -> list[int]:
        decision = delete_topics(
            self.image, DeleteTopicsRequest(topic_names=list(names)), self.policy
        )
        self.agree(decision)
        return [result.error_code for result in decision.answer.responses]


@pytest.fixture
def controller() -> Controller:
    return Controller()


def topic(
    name: str = "t", partitions: int = -1, replicas: int = -1, **configs: str | None
) -> CreatableTopic:
    settings = [CreatableTopicConfig(key.replace("_", "."), v) for key, v in configs.items()]
    return CreatableTopic(name, partitions, replicas, configs=settings)


def assigned(*brokers: list[int], first: int = 0) -> CreatableTopic:
    assignments = [
        CreatableReplicaAssignment(index, ids) for index, ids in enumerate(brokers, first)
    ]
    return CreatableTopic("t", -1, -1, assignments)


# -- creating --------------------------------------------------------------------------------------


def test_the_records_of_a_new_topic(controller: Controller) -> None:
    request = CreateTopicsRequest([topic("t", 2, 1, retention_ms="5")])
    decision = create_topics(controller.image, request, controller.policy)
    assert controller.image.topics == {}
    topic_id = (1).to_bytes(16, "big")
    first, config, *partitions = decision.records
    assert first == TopicRecord("t", topic_id)
    assert config == ConfigRecord(2, "t", "retention.ms", "5")
    assert all(isinstance(record, PartitionRecord) for record in partitions)
    assert [(p.partition_id, p.topic_id, p.replicas, p.isr, p.leader) for p in partitions] == [
        (index, topic_id, [NODE], [NODE], NODE) for index in (0, 1)
    ]
    (result,) = decision.answer.topics
    assert (result.topic_id, result.num_partitions, result.replication_factor) == (topic_id, 2, 1)
    described = {config.name: (config.value, config.config_source) for config in result.configs}
    assert described["retention.ms"] == ("5", 1)
    assert described["cleanup.policy"] == ("delete", 5)


def test_the_brokers_default_number_of_partitions(controller: Controller) -> None:
    assert controller.create(topic()) == [CREATED]
    assert len(controller.image.topics["t"].partitions) == 3


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (topic("t", 1, 1), CREATED),
        (topic("t", 0), ErrorCode.INVALID_PARTITIONS),
        (topic("t", -2), ErrorCode.INVALID_PARTITIONS),
        (topic("t", 10_001), ErrorCode.POLICY_VIOLATION),
        (topic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic(no_such_setting="1"), ErrorCode.INVALID_CONFIG),
        (topic(retention_ms="x"), ErrorCode.INVALID_CONFIG),
        (topic(retention_ms=None), ErrorCode.INVALID_CONFIG),
        (assigned([NODE], [NODE]), CREATED),
        (assigned([NODE], [8]), ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
        (assigned([NODE, 8]), ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
        (assigned([]), ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
        (assigned([NODE], first=1), ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
        (
            CreatableTopic("t", 1, -1, [CreatableReplicaAssignment(0, [NODE])]),
            ErrorCode.INVALID_REQUEST,
        ),
    ],
)
def test_what_can_be_created(controller: Controller, asked: CreatableTopic, error: int) -> None:
    assert controller.create(asked) == [error]
    assert ("t" in controller.image.topics) == (error == CREATED)


@pytest.mark.parametrize(
    "name", ["a", "A.b_c-9", "a" * 249, "...", "-", "__consumer_offset", "a-0"]
)
def test_legal_names(controller: Controller, name: str) -> None:
    assert controller.create(topic(name)) == [CREATED]


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a" * 250, "a b", "a/b", "ä", "a\n", "a:b", "../x", "\0", *RESERVED],
)
def test_illegal_names(controller: Controller, name: str) -> None:
    assert controller.create(topic(name)) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert controller.image.topics == {}


def test_the_broker_may_make_its_own_topics(controller: Controller) -> None:
    assert controller.create(topic("__consumer_offsets"), internal=True) == [CREATED]


def test_names_that_differ_in_a_dot_collide(controller: Controller) -> None:
    collision = ErrorCode.INVALID_TOPIC_EXCEPTION
    assert controller.create(topic("a.b"), topic("a_b")) == [CREATED, collision]
    assert controller.create(topic("a_b"), topic("a-b")) == [collision, CREATED]
    assert controller.delete("a.b") == [0]
    assert controller.create(topic("a_b")) == [CREATED]


def test_each_topic_on_its_own(controller: Controller) -> None:
    assert controller.create(topic("a")) == [CREATED]
    assert controller.create(topic("a"), topic("b"), topic("c"), topic("c")) == [
        ErrorCode.TOPIC_ALREADY_EXISTS,
        CREATED,
        ErrorCode.INVALID_REQUEST,  # one answer for a name that stands twice, as Kafka gives
    ]
    assert controller.image.topics.keys() == {"a", "b"}


def test_validating_makes_no_records(controller: Controller) -> None:
    request = CreateTopicsRequest([topic("a"), topic("b", 0)], validate_only=True)
    decision = create_topics(controller.image, request, controller.policy)
    assert decision.records == []
    assert [result.error_code for result in decision.answer.topics] == [
        CREATED,
        ErrorCode.INVALID_PARTITIONS,
    ]


# -- growing ---------------------------------------------------------------------------------------


def test_growing(controller: Controller) -> None:
    controller.create(topic("t", 2))
    assert controller.grow(CreatePartitionsTopic("t", 5, None)) == [0]
    assert [p.index for p in controller.image.topics["t"].partitions] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "to", "assignments", "error"),
    [
        ("t", 3, [[NODE]], 0),
        ("t", 2, None, ErrorCode.INVALID_PARTITIONS),
        ("t", 1, None, ErrorCode.INVALID_PARTITIONS),
        ("t", -1, None, ErrorCode.INVALID_PARTITIONS),
        ("t", 100_001, None, ErrorCode.POLICY_VIOLATION),
        ("nowhere", 3, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("__consumer_offsets", 50, None, ErrorCode.INVALID_REQUEST),
        ("t", 3, [], ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
        ("t", 3, [[NODE], [NODE]], ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
        ("t", 3, [[9]], ErrorCode.INVALID_REPLICATION_ASSIGNMENT),
    ],
)
def test_what_can_grow(
    controller: Controller, name: str, to: int, assignments: list[list[int]] | None, error: int
) -> None:
    controller.create(topic("t", 2))
    controller.create(topic("__consumer_offsets", 3), internal=True)
    rows = None
    if assignments is not None:
        rows = [CreatePartitionsAssignment(brokers) for brokers in assignments]
    assert controller.grow(CreatePartitionsTopic(name, to, rows)) == [error]
    assert len(controller.image.topics["t"].partitions) == (3 if error == 0 else 2)


def test_growing_twice_in_one_request(controller: Controller) -> None:
    controller.create(topic("t", 1))
    wanted = CreatePartitionsTopic("t", 2, None)
    assert controller.grow(wanted, wanted) == [ErrorCode.INVALID_REQUEST]
    assert controller.grow(wanted, validate_only=True) == [0]
    assert len(controller.image.topics["t"].partitions) == 1


# -- deleting --------------------------------------------------------------------------------------


def test_deleting_by_name_and_by_id(controller: Controller) -> None:
    controller.create(topic("a"), topic("b"))
    ids = {name: image.topic_id for name, image in controller.image.topics.items()}
    states = [
        DeleteTopicState("a"),
        DeleteTopicState(None, ids["b"]),
        DeleteTopicState("nowhere"),
        DeleteTopicState(None, b"\xff" * 16),
        DeleteTopicState("a", ids["a"]),
    ]
    decision = delete_topics(controller.image, DeleteTopicsRequest(states), controller.policy)
    assert decision.records == [RemoveTopicRecord(ids["a"]), RemoveTopicRecord(ids["b"])]
    answers = [(r.name, r.topic_id, r.error_code) for r in decision.answer.responses]
    assert answers[:2] == [("a", ids["a"], 0), ("b", ids["b"], 0)]
    assert [error for _, _, error in answers[2:]] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUEST,
    ]


def test_deleting_twice_removes_once(controller: Controller) -> None:
    controller.create(topic("a"))
    assert controller.delete("a", "a") == [0, 0]
    assert controller.delete("a") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_what_can_not_be_deleted(controller: Controller) -> None:
    controller.create(topic("t"))
    controller.create(topic("__consumer_offsets"), internal=True)
    assert controller.delete("__consumer_offsets") == [ErrorCode.INVALID_REQUEST]
    controller.deletes = False
    assert controller.delete("t") == [ErrorCode.TOPIC_DELETION_DISABLED]
    assert controller.delete("nowhere") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert len(controller.image.topics) == 2
