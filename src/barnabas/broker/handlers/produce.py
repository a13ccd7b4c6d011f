"""Produce, versions 3-13 (0-2 are advertised for clients that look for them, and refused).

`production` stores the batches. A request that names a partition twice is refused, as in Kafka.

acks=0 gets no answer, and the connection is closed when something was refused, as there is no other
way to report it; acks=1 is answered after the append; acks=all once the records are committed, and
refused when fewer replicas than `min.insync.replicas` are in sync.
Clients do not write to internal topics.
"""

from asyncio import Future
from typing import Any

from barnabas.broker.handlers.production import ACKS_ALL, Needs, Production
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.partitions import Replicas
from barnabas.metadata.image import INTERNAL_TOPICS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

FIRST_VERSION = 3


def handle(
    node: Needs, request: ProduceRequest, context: RequestContext
) -> "ProduceResponse | Future[Any] | None":
    refusal = _refusal(request, context)
    production = Production(node, request, context)
    for topic in request.topic_data:
        partitions, unknown = _partitions(node, topic)
        answers = []
        for data in topic.partition_data:
            answer = PartitionProduceResponse(data.index, ErrorCode.NONE, -1)
            answers.append(answer)
            if refusal is not None:
                answer.error_code = refusal
            elif not 0 <= data.index < len(partitions):
                answer.error_code = unknown
            else:
                production.batches.append((partitions[data.index], data, answer))
        production.response.responses.append(
            TopicProduceResponse(topic.name, topic.topic_id, answers)
        )
    production.store_some()
    return production.outcome()


def _refusal(request: ProduceRequest, context: RequestContext) -> ErrorCode | None:
    """Why the whole request is refused."""
    if context.version < FIRST_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    if request.acks not in (ACKS_ALL, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if request.transactional_id is not None and request.acks == 0:
        return ErrorCode.INVALID_REQUIRED_ACKS  # the client would not learn of a refused batch
    if _names_a_partition_twice(request):
        return ErrorCode.INVALID_REQUEST  # as in Kafka
    return None


def _names_a_partition_twice(request: ProduceRequest) -> bool:
    topics = request.topic_data
    if len(topics) == 1 and len(topics[0].partition_data) == 1:
        return False
    named = [
        (topic.name, topic.topic_id, data.index)
        for topic in topics
        for data in topic.partition_data
    ]
    return len(set(named)) < len(named)


def _partitions(node: Needs, topic: TopicProduceData) -> tuple[Replicas, ErrorCode]:
    """The topic's partitions, and the error for one that it does not have."""
    if topic.name in INTERNAL_TOPICS:
        return [], ErrorCode.INVALID_TOPIC_EXCEPTION
    if topic.name:
        found = node.partitions.by_name.get(topic.name)
        return found or [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    by_id = node.partitions.by_id.get(topic.topic_id)
    if by_id is None:
        return [], ErrorCode.UNKNOWN_TOPIC_ID
    if any(by_id is node.partitions.by_name.get(name) for name in INTERNAL_TOPICS):
        return [], ErrorCode.INVALID_TOPIC_EXCEPTION
    return by_id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
