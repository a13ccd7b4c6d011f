"""Produce, versions 3-13 (0-2 are advertised for clients that look for them, and refused).

A batch is stored as it came. acks=0 gets no answer, and the connection is closed when something
was refused, as there is no other way to say so; acks=1 is answered after the append; acks=all
once the records are committed, and refused when fewer replicas than `min.insync.replicas` are in
sync. Transactions are not served, and clients do not write to internal topics.
"""

from asyncio import Future
from functools import partial

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.leadership import TELLS_LEADER, partition_image
from barnabas.broker.node import Node
from barnabas.broker.partition import AppendRefused, Partition
from barnabas.broker.partitions import Replicas
from barnabas.log import StorageError
from barnabas.metadata.image import CONSUMER_OFFSETS, INTERNAL_TOPICS
from barnabas.records.errors import InvalidBatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from barnabas.wire.primitives import WireError

FIRST_VERSION = 3
ACKS_ALL = -1

Waiting = list[tuple[Partition, PartitionProduceResponse]]


def handle(
    node: Node, request: ProduceRequest, context: RequestContext
) -> "ProduceResponse | Future[ProduceResponse] | None":
    refusal = _refusal(request, context)
    waiting: Waiting = []
    failed = False
    response = ProduceResponse()
    time_ms = node.clock.now_ms()
    for topic in request.topic_data:
        partitions, unknown = _partitions(node, topic)
        answers = []
        for data in topic.partition_data:
            if refusal is not None:
                answer = PartitionProduceResponse(data.index, refusal, -1)
            elif not 0 <= data.index < len(partitions):
                answer = PartitionProduceResponse(data.index, unknown, -1)
            else:
                partition = partitions[data.index]
                answer = _append(partition, data, request.acks, time_ms)
                if partition is not None and request.acks == ACKS_ALL and answer.error_code == 0:
                    waiting.append((partition, answer))
            failed = failed or answer.error_code != 0
            answers.append(answer)
        response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
    if request.acks == 0:
        if failed:
            raise WireError("a produce with acks=0 was refused")
        return None
    if failed:
        _tell_leaders(node, response, context)
        if node.lifecycle.is_cut_off:
            context.send_away(node.loop)
    return _answer_when_committed(node, response, waiting, request.timeout_ms)


def _refusal(request: ProduceRequest, context: RequestContext) -> ErrorCode | None:
    """Why the whole request is refused."""
    if context.version < FIRST_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    if request.acks not in (ACKS_ALL, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if request.transactional_id is not None:
        return ErrorCode.INVALID_TXN_STATE
    return None


def _partitions(node: Node, topic: TopicProduceData) -> tuple[Replicas, ErrorCode]:
    """The topic's partitions, and what to say of one that it does not have."""
    if topic.name in INTERNAL_TOPICS:
        return [], ErrorCode.INVALID_TOPIC_EXCEPTION
    if topic.name:
        found = node.partitions.by_name.get(topic.name)
        return found or [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    by_id = node.partitions.by_id.get(topic.topic_id)
    if by_id is None:
        return [], ErrorCode.UNKNOWN_TOPIC_ID
    if by_id is node.partitions.by_name.get(CONSUMER_OFFSETS):
        return [], ErrorCode.INVALID_TOPIC_EXCEPTION
    return by_id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _append(
    partition: Partition | None, data: PartitionProduceData, acks: int, time_ms: int
) -> PartitionProduceResponse:
    if partition is None or not partition.is_leader:
        return PartitionProduceResponse(data.index, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    if acks == ACKS_ALL and partition.lacks_replicas:
        needed, found = partition.limits.min_insync_replicas, len(partition.isr)
        return PartitionProduceResponse(
            data.index,
            ErrorCode.NOT_ENOUGH_REPLICAS,
            -1,
            error_message=f"min.insync.replicas is {needed}, and {found} of the replicas in sync",
        )
    try:
        info = partition.append(data.records, time_ms)
    except InvalidBatch as error:
        return PartitionProduceResponse(
            data.index, error.error_code, -1, error_message=error.message
        )
    except AppendRefused as error:
        return PartitionProduceResponse(data.index, error.error_code, -1, error_message=str(error))
    except StorageError as error:
        partition.log_refusal(error, time_ms)
        return PartitionProduceResponse(
            data.index, ErrorCode.KAFKA_STORAGE_ERROR, -1, error_message=str(error)
        )
    return PartitionProduceResponse(
        data.index, 0, info.base_offset, info.log_append_time_ms, info.log_start_offset
    )


def _tell_leaders(node: Node, response: ProduceResponse, context: RequestContext) -> None:
    """Say who leads the partitions that are not led here, and where to find them."""
    leaders = set()
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code in TELLS_LEADER:
                image = partition_image(node.image, topic.name or topic.topic_id, answer.index)
                if image is not None:
                    answer.current_leader = LeaderIdAndEpoch(image.leader, image.leader_epoch)
                    leaders.add(image.leader)
    for leader_id in sorted(leaders):
        address = node.cluster.endpoint_of(leader_id, context.connection)
        if address is not None:
            response.node_endpoints.append(NodeEndpoint(leader_id, address.host, address.port))


def _answer_when_committed(
    node: Node, response: ProduceResponse, waiting: Waiting, timeout_ms: int
) -> "ProduceResponse | Future[ProduceResponse]":
    """Answer when all is committed, or with what is not when that is sure or takes too long."""
    waiting = [
        (partition, answer)
        for partition, answer in waiting
        if partition.high_watermark < partition.log.log_end_offset
    ]
    if not waiting:
        return response
    answered: Future[ProduceResponse] = node.loop.create_future()
    pending = len(waiting)

    def one_done(answer: PartitionProduceResponse, error: ErrorCode) -> None:
        nonlocal pending
        if error is not ErrorCode.NONE:
            answer.error_code = error
            answer.base_offset = -1
        pending -= 1
        if pending == 0 and not answered.done():
            answered.set_result(response)

    for partition, answer in waiting:
        end = partition.log.log_end_offset
        partition.when_committed(end, timeout_ms, partial(one_done, answer))
    return answered
