"""Guards of records and offsets: Produce, ListOffsets, DeleteRecords, OffsetForLeaderEpoch,
DescribeProducers. Fetch and Metadata check in their handlers."""

from collections.abc import Callable, Iterable
from typing import Any

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.guards.guard import (
    TOPIC_DENIED,
    TRANSACTIONAL_ID_DENIED,
    Needs,
    Part,
    Verdict,
    refusing_topics,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slices, split
from barnabas.records.batch import TRANSACTIONAL
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsTopicResult,
)
from barnabas.wire.messages.describe_producers import (
    PartitionResponse,
    TopicResponse,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderTopicResult,
)
from barnabas.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from barnabas.wire.primitives import WireError

ATTRIBUTES_AT = 22
"""Where a batch has the low byte of its attributes."""


def produce(
    node: Needs, request: ProduceRequest, access: RequestAccess, _: RequestContext
) -> Verdict:
    """WRITE on each topic; on the transactional id too, if records belong to a transaction."""
    transactional_id = request.transactional_id
    if _has_transactional(request) and (
        transactional_id is None
        or not access.transactional_id(AclOperation.WRITE, transactional_id)
    ):
        refused = [_refused(topic, TRANSACTIONAL_ID_DENIED) for topic in request.topic_data]
        allowed: list[TopicProduceData] = []
    else:
        errors = [_write_error(node, access, topic) for topic in request.topic_data]
        judged = list(zip(request.topic_data, errors, strict=True))
        refused = [_refused(topic, error) for topic, error in judged if error]
        allowed = [topic for topic, error in judged if not error]
    if not refused:
        return None
    if request.acks == 0:
        raise WireError("a produce with acks=0 was refused")
    if not allowed:
        return ProduceResponse(refused)
    request.topic_data = allowed

    def finish(response: ProduceResponse) -> ProduceResponse:
        response.responses += refused
        return response

    return Part(request, finish)


def _has_transactional(request: ProduceRequest) -> bool:
    return any(
        data.records is not None
        and len(data.records) > ATTRIBUTES_AT
        and data.records[ATTRIBUTES_AT] & TRANSACTIONAL
        for topic in request.topic_data
        for data in topic.partition_data
    )


def _write_error(node: Needs, access: RequestAccess, topic: TopicProduceData) -> ErrorCode:
    name = topic.name
    if not name:
        image = node.image.topics_by_id.get(topic.topic_id)
        if image is None:
            # Not left to the handler: its replicas outlive a topic that is deleted.
            return ErrorCode.UNKNOWN_TOPIC_ID
        name = image.name
    return ErrorCode.NONE if access.topic(AclOperation.WRITE, name) else TOPIC_DENIED


def _refused(topic: TopicProduceData, error: ErrorCode) -> TopicProduceResponse:
    answers = [PartitionProduceResponse(data.index, error, -1) for data in topic.partition_data]
    return TopicProduceResponse(topic.name, topic.topic_id, answers)


_JudgeTopics = Callable[[Needs, Any, RequestAccess, RequestContext], Slices[Verdict]]


def _each_topic(
    operation: AclOperation,
    refuse: Callable[[Any], Any],
    refuse_topic: Callable[[str, list[Any]], Any],
    name_of: Callable[[Any], str] = lambda topic: topic.name,
    partitions_of: Callable[[Any], Iterable[Any]] = lambda topic: topic.partitions,
) -> _JudgeTopics:
    """The guard of an API that needs one right on each topic; `refuse` answers for a partition of a
    topic without it, and `refuse_topic` for the topic."""

    def guard(
        _: Needs, request: Any, access: RequestAccess, context: RequestContext
    ) -> Slices[Verdict]:
        request.topics, denied = yield from split(
            request.topics, lambda topic: access.topic(operation, name_of(topic))
        )
        if not denied:
            return None
        finish = refusing_topics(
            "topics",
            denied,
            partitions_of,
            refuse,
            lambda topic, refused: refuse_topic(name_of(topic), refused),
            context,
        )
        return Part(request, finish)

    return guard


list_offsets = _each_topic(
    AclOperation.DESCRIBE,
    lambda asked: ListOffsetsPartitionResponse(asked.partition_index, TOPIC_DENIED),
    ListOffsetsTopicResponse,
)
delete_records = _each_topic(
    AclOperation.DELETE,
    lambda asked: DeleteRecordsPartitionResult(asked.partition_index, -1, TOPIC_DENIED),
    DeleteRecordsTopicResult,
)
describe_producers = _each_topic(
    AclOperation.READ,
    lambda index: PartitionResponse(index, TOPIC_DENIED),
    TopicResponse,
    partitions_of=lambda topic: topic.partition_indexes,
)
_describe_each = _each_topic(
    AclOperation.DESCRIBE,
    lambda asked: EpochEndOffset(TOPIC_DENIED, asked.partition),
    OffsetForLeaderTopicResult,
    name_of=lambda topic: str(topic.topic),
)


def offset_for_leader_epoch(
    node: Needs,
    request: OffsetForLeaderEpochRequest,
    access: RequestAccess,
    context: RequestContext,
) -> Slices[Verdict]:
    """CLUSTER_ACTION on the cluster, or DESCRIBE on each topic."""
    if access.cluster(AclOperation.CLUSTER_ACTION, log=False):
        return None
    return (yield from _describe_each(node, request, access, context))
