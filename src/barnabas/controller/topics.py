"""Creating and deleting topics."""

import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass

from barnabas.controller.configs import TopicDefaults, check_topic_config, described_configs
from barnabas.controller.decision import Decision, Refusal
from barnabas.controller.placement import Placement, assigned_partitions, new_partition
from barnabas.metadata.image import (
    RESERVED_NAMES,
    TOPIC_RESOURCE,
    MetadataImage,
    TopicImage,
)
from barnabas.metadata.records import MetadataRecord
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from barnabas.wire.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from barnabas.wire.primitives import ZERO_UUID

MAX_NAME_LENGTH = 249
MAX_PARTITIONS_PER_TOPIC = 100_000
MAX_PARTITIONS_PER_REQUEST = 10_000
"""As in Kafka: a decision about so many takes a good part of a second."""
DEFAULT_REPLICATION_FACTOR = 3

_LEGAL_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class TopicPolicy:
    """The broker's settings for new topics."""

    node_id: int
    num_partitions: int
    defaults: TopicDefaults
    delete_enabled: bool
    new_topic_id: Callable[[], bytes]
    default_replication_factor: int = -1
    """-1 means 3, or the number of brokers if there are fewer."""
    max_broker_partitions: int = 2**31 - 1
    """The most replicas of one broker."""
    stuck: Collection[int] = ()
    """Brokers that would not know of the topic: see `broker_sessions`."""


def check_name(name: str) -> None:
    """Raise `Refusal` unless `name` can be a topic's name (and so a directory's)."""
    if not name or name in (".", "..") or len(name) > MAX_NAME_LENGTH:
        raise Refusal(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"a topic name has 1 to {MAX_NAME_LENGTH} characters and is not '.' or '..'",
        )
    if not _LEGAL_NAME.fullmatch(name):
        raise Refusal(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"invalid topic name {name!r}: use letters, digits, '.', '_' and '-' only",
        )


def partitions_asked_for(request: CreateTopicsRequest, num_partitions: int) -> int:
    """How many partitions the request would create; `num_partitions` is the default."""
    return sum(
        len(topic.assignments)
        or (num_partitions if topic.num_partitions == -1 else max(0, topic.num_partitions))
        for topic in request.topics
    )


def too_many_partitions(count: int) -> Refusal:
    """The error of a whole request for too many partitions."""
    return Refusal(
        ErrorCode.POLICY_VIOLATION,
        f"{count} partitions in one request, the maximum is {MAX_PARTITIONS_PER_REQUEST}; use "
        "several requests",
    )


def creation_throttled(wait_ms: int) -> Refusal:
    """Why nothing is created for a while."""
    return Refusal(
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        f"too many partitions were created (create.partitions.max.per.second); try again in "
        f"{wait_ms} ms",
    )


def topics_throttled(request: CreateTopicsRequest, wait_ms: int) -> CreateTopicsResponse:
    why = creation_throttled(wait_ms)
    return CreateTopicsResponse(
        wait_ms,
        [
            CreatableTopicResult(name, error_code=why.error_code, error_message=why.message)
            for name in dict.fromkeys(topic.name for topic in request.topics)
        ],
    )


def create_topics(
    image: MetadataImage,
    request: CreateTopicsRequest,
    policy: TopicPolicy,
    *,
    internal: bool = False,
) -> Decision[CreateTopicsResponse]:
    """Each topic succeeds or fails on its own.

    Names of internal topics are refused unless the request comes from a broker: `internal`.
    """
    records: list[MetadataRecord] = []
    results: list[CreatableTopicResult] = []
    asked = Counter(topic.name for topic in request.topics)
    metric_names = {_metric_name(name): name for name in (*RESERVED_NAMES, *image.topics)}
    limit = None if internal else policy.max_broker_partitions
    placement = Placement(image, limit, policy.stuck)
    count = partitions_asked_for(request, policy.num_partitions)
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if count > MAX_PARTITIONS_PER_REQUEST:
                raise too_many_partitions(count)
            if asked[topic.name] > 1:
                raise Refusal(
                    ErrorCode.INVALID_REQUEST,
                    f"topic {topic.name!r} is in the request twice",
                )
            if topic.name in RESERVED_NAMES and not internal:
                raise Refusal(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"topic {topic.name!r} is internal; brokers create it when they need it",
                )
            created, result = _create_topic(image, topic, policy, placement, metric_names)
        except Refusal as refusal:
            results.append(
                CreatableTopicResult(
                    topic.name, error_code=refusal.error_code, error_message=refusal.message
                )
            )
            continue
        metric_names[_metric_name(topic.name)] = topic.name
        results.append(result)
        records += created
    return Decision([] if request.validate_only else records, CreateTopicsResponse(0, results))


def _create_topic(
    image: MetadataImage,
    topic: CreatableTopic,
    policy: TopicPolicy,
    placement: Placement,
    metric_names: dict[str, str],
) -> tuple[list[MetadataRecord], CreatableTopicResult]:
    check_name(topic.name)
    if topic.name in image.topics:
        raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {topic.name!r} already exists")
    _check_collision(metric_names, topic.name)
    configs = {}
    for config in topic.configs:
        configs[config.name] = check_topic_config(config.name, config.value)
    topic_id = policy.new_topic_id()
    partitions = _new_partitions(image, topic, topic_id, policy, placement)
    records: list[MetadataRecord] = [TopicRecord(topic.name, topic_id)]
    records += (
        ConfigRecord(TOPIC_RESOURCE, topic.name, name, value) for name, value in configs.items()
    )
    records += partitions
    result = CreatableTopicResult(
        topic.name,
        topic_id,
        error_message=None,
        num_partitions=len(partitions),
        replication_factor=len(partitions[0].replicas),
        configs=[
            CreatableTopicConfigs(entry.name, entry.value, False, entry.source, False)
            for entry in described_configs(topic.name, configs, policy.defaults)
        ],
    )
    return records, result


def _check_collision(metric_names: dict[str, str], name: str) -> None:
    """'.' and '_' are the same character in metric names, so such topics collide."""
    other = metric_names.get(_metric_name(name))
    if other not in (None, name):
        raise Refusal(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"topic {name!r} collides with {other!r}: '.' and '_' are treated as equal",
        )


def _metric_name(name: str) -> str:
    return name.replace(".", "_")


def _new_partitions(
    image: MetadataImage,
    topic: CreatableTopic,
    topic_id: bytes,
    policy: TopicPolicy,
    placement: Placement,
) -> list[PartitionRecord]:
    if topic.assignments:
        assigned = _assignments(topic)
        placement.check_room_for(assigned)
        return assigned_partitions(image, topic_id, 0, assigned, stuck=policy.stuck)
    count = policy.num_partitions if topic.num_partitions == -1 else topic.num_partitions
    if not 1 <= count <= MAX_PARTITIONS_PER_TOPIC:
        raise Refusal(
            ErrorCode.INVALID_PARTITIONS,
            f"invalid number of partitions {count}: use 1 to {MAX_PARTITIONS_PER_TOPIC}",
        )
    factor = topic.replication_factor
    if factor == -1:
        factor = policy.default_replication_factor
    if factor == -1:
        # Brokers that are down count too: they get their replicas when they return.
        factor = min(DEFAULT_REPLICATION_FACTOR, max(1, placement.broker_count))
    placement.check(factor, count)
    placement.begin_topic()
    return [
        new_partition(image, topic_id, index, placement.place(factor), policy.stuck)
        for index in range(count)
    ]


def _assignments(topic: CreatableTopic) -> list[list[int]]:
    """The manual assignment of partitions 0, 1, 2, …"""
    if topic.num_partitions != -1 or topic.replication_factor != -1:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            "give either an assignment, or a number of partitions and a replication factor",
        )
    by_index = {assigned.partition_index: assigned.broker_ids for assigned in topic.assignments}
    indexes = sorted(assigned.partition_index for assigned in topic.assignments)
    if indexes != list(range(len(indexes))):
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
            "an assignment must have partitions 0, 1, 2, … without a gap",
        )
    return [by_index[index] for index in indexes]


def delete_topics(
    image: MetadataImage, request: DeleteTopicsRequest, policy: TopicPolicy
) -> Decision[DeleteTopicsResponse]:
    """By name, or from version 6 on by id."""
    asked = request.topics or [DeleteTopicState(name) for name in request.topic_names]
    records: list[MetadataRecord] = []
    results: list[DeletableTopicResult] = []
    gone: set[bytes] = set()
    for state in asked:
        try:
            topic = _deletable(image, state, policy)
        except Refusal as refusal:
            results.append(
                DeletableTopicResult(
                    state.name, state.topic_id, refusal.error_code, refusal.message
                )
            )
            continue
        if topic.topic_id not in gone:
            records.append(RemoveTopicRecord(topic.topic_id))
            gone.add(topic.topic_id)
        results.append(DeletableTopicResult(topic.name, topic.topic_id))
    return Decision(records, DeleteTopicsResponse(0, results))


def _deletable(image: MetadataImage, state: DeleteTopicState, policy: TopicPolicy) -> TopicImage:
    if state.name is not None and state.topic_id != ZERO_UUID:
        raise Refusal(ErrorCode.INVALID_REQUEST, "give the name or the id of the topic, not both")
    if state.name is not None:
        topic = image.topics.get(state.name)
        if topic is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"unknown topic {state.name!r}")
    else:
        topic = image.topics_by_id.get(state.topic_id)
        if topic is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "unknown topic id")
    if not policy.delete_enabled:
        raise Refusal(
            ErrorCode.TOPIC_DELETION_DISABLED,
            "topic deletion is disabled; set delete.topic.enable=true on the broker",
        )
    if topic.is_internal:
        raise Refusal(ErrorCode.INVALID_REQUEST, f"internal topic {topic.name!r} can't be deleted")
    return topic
