"""CreatePartitions: adds partitions to topics."""

from collections import Counter
from collections.abc import Collection

from barnabas.controller.decision import Decision, Refusal
from barnabas.controller.placement import Placement, assigned_partitions, new_partition
from barnabas.controller.topics import (
    MAX_PARTITIONS_PER_REQUEST,
    MAX_PARTITIONS_PER_TOPIC,
    creation_throttled,
    too_many_partitions,
)
from barnabas.metadata.image import INTERNAL_TOPICS, MetadataImage
from barnabas.metadata.records import MetadataRecord
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from barnabas.wire.messages.metadata_records import PartitionRecord


def create_partitions(
    image: MetadataImage,
    request: CreatePartitionsRequest,
    max_broker_partitions: int | None = None,
    stuck: Collection[int] = (),
) -> Decision[CreatePartitionsResponse]:
    """Each topic succeeds or fails on its own. Brokers that are `stuck` would not know of it."""
    records: list[MetadataRecord] = []
    results: list[CreatePartitionsTopicResult] = []
    asked = Counter(topic.name for topic in request.topics)
    placement = Placement(image, max_broker_partitions, stuck)
    new = sum(_growth(image, topic) for topic in request.topics)
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            if new > MAX_PARTITIONS_PER_REQUEST:
                raise too_many_partitions(new)
            if asked[topic.name] > 1:
                raise Refusal(
                    ErrorCode.INVALID_REQUEST,
                    f"topic {topic.name!r} is in the request twice",
                )
            records += _grow(image, topic, placement)
        except Refusal as refusal:
            results.append(
                CreatePartitionsTopicResult(topic.name, refusal.error_code, refusal.message)
            )
            continue
        results.append(CreatePartitionsTopicResult(topic.name))
    return Decision([] if request.validate_only else records, CreatePartitionsResponse(0, results))


def growth_throttled(request: CreatePartitionsRequest, wait_ms: int) -> CreatePartitionsResponse:
    why = creation_throttled(wait_ms)
    return CreatePartitionsResponse(
        wait_ms,
        [
            CreatePartitionsTopicResult(name, why.error_code, why.message)
            for name in dict.fromkeys(topic.name for topic in request.topics)
        ],
    )


def _growth(image: MetadataImage, topic: CreatePartitionsTopic) -> int:
    """How many partitions the topic would get."""
    current = image.topics.get(topic.name)
    return 0 if current is None else max(0, topic.count - len(current.partitions))


def _grow(
    image: MetadataImage, topic: CreatePartitionsTopic, placement: Placement
) -> list[PartitionRecord]:
    current = image.topics.get(topic.name)
    if current is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"unknown topic {topic.name!r}")
    if topic.name in INTERNAL_TOPICS:
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            f"topic {topic.name!r} is internal; its number of partitions is fixed",
        )
    have = len(current.partitions)
    if topic.count == have:
        raise Refusal(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {topic.name!r} has {have} partitions already; give the new total",
        )
    if not have < topic.count <= MAX_PARTITIONS_PER_TOPIC:
        raise Refusal(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {topic.name!r} has {have} partitions, can't change to {topic.count}; the total "
            f"can only grow, to at most {MAX_PARTITIONS_PER_TOPIC}",
        )
    first = current.partitions[0]
    factor = len(first.replicas) - len(first.adding_replicas)
    if topic.assignments is not None:
        if len(topic.assignments) != topic.count - have:
            raise Refusal(
                ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
                f"{topic.count - have} new partitions, but assignments for "
                f"{len(topic.assignments)}",
            )
        assigned = [assignment.broker_ids for assignment in topic.assignments]
        placement.check_room_for(assigned)
        return assigned_partitions(image, current.topic_id, have, assigned, factor, placement.stuck)
    placement.check(factor, topic.count - have)
    placement.begin_topic(current.partitions)
    return [
        new_partition(image, current.topic_id, index, placement.place(factor), placement.stuck)
        for index in range(have, topic.count)
    ]
