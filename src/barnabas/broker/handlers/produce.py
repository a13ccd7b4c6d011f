"""Produce, versions 3-13 (0-2 are advertised for clients that look for them, and refused).

A batch is stored as it came. acks=0 gets no answer, and the connection is closed when something
was refused, as there is no other way to say so; acks=1 is answered after the append; acks=all
once the records are committed. Transactions are not served, and clients do not write to internal
topics.
"""

from asyncio import Future

from barnabas.broker.clock import now_ms
from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.broker.partition import Partition
from barnabas.log import StorageError
from barnabas.metadata.image import INTERNAL_TOPICS
from barnabas.records.errors import InvalidBatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import (
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

Waiting = list[tuple[Partition, Future[None], PartitionProduceResponse]]


def handle(
    node: Node, request: ProduceRequest, context: RequestContext
) -> "ProduceResponse | Future[ProduceResponse] | None":
    refusal = _refusal(request, context)
    waiting: Waiting = []
    failed = False
    responses = []
    time_ms = now_ms()
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
                if request.acks == ACKS_ALL and answer.error_code == 0:
                    _wait_for_commit(partition, answer, waiting)
            failed = failed or answer.error_code != 0
            answers.append(answer)
        responses.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
    if request.acks == 0:
        if failed:
            raise WireError("a produce with acks=0 was refused")
        return None
    response = ProduceResponse(responses)
    if waiting:
        return _answer_later(node, response, waiting, request.timeout_ms)
    return response


def _refusal(request: ProduceRequest, context: RequestContext) -> ErrorCode | None:
    """Why the whole request is refused."""
    if context.version < FIRST_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    if request.acks not in (ACKS_ALL, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if request.transactional_id is not None:
        return ErrorCode.INVALID_TXN_STATE
    return None


def _partitions(node: Node, topic: TopicProduceData) -> tuple[list[Partition], ErrorCode]:
    """The topic's partitions, and what to say of one that it does not have."""
    if topic.name in INTERNAL_TOPICS:
        return [], ErrorCode.INVALID_TOPIC_EXCEPTION
    if topic.name:
        found = node.partitions.by_name.get(topic.name)
        return found or [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    by_id = node.partitions.by_id.get(topic.topic_id)
    if by_id is None:
        return [], ErrorCode.UNKNOWN_TOPIC_ID
    if by_id and by_id[0].topic in INTERNAL_TOPICS:
        return [], ErrorCode.INVALID_TOPIC_EXCEPTION
    return by_id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _append(
    partition: Partition, data: PartitionProduceData, acks: int, time_ms: int
) -> PartitionProduceResponse:
    needed = partition.limits.min_insync_replicas
    if acks == ACKS_ALL and needed > 1:
        return PartitionProduceResponse(
            data.index,
            ErrorCode.NOT_ENOUGH_REPLICAS,
            -1,
            error_message=f"min.insync.replicas is {needed}, but there is 1 replica",
        )
    try:
        info = partition.append(data.records, time_ms)
    except InvalidBatch as error:
        return PartitionProduceResponse(
            data.index, error.error_code, -1, error_message=error.message
        )
    except StorageError as error:
        partition.log_refusal(error, time_ms)
        return PartitionProduceResponse(
            data.index, ErrorCode.KAFKA_STORAGE_ERROR, -1, error_message=str(error)
        )
    return PartitionProduceResponse(
        data.index, 0, info.base_offset, info.log_append_time_ms, info.log_start_offset
    )


def _wait_for_commit(
    partition: Partition, answer: PartitionProduceResponse, waiting: Waiting
) -> None:
    committed = partition.committed(partition.log.log_end_offset)
    if committed is not None:
        waiting.append((partition, committed, answer))


def _why_never(partition: Partition) -> ErrorCode:
    """Why what was appended will not be committed."""
    gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return gone if partition.deleted else ErrorCode.KAFKA_STORAGE_ERROR


def _fail(answer: PartitionProduceResponse, error: ErrorCode) -> None:
    answer.error_code = error
    answer.base_offset = -1


def _answer_later(
    node: Node, response: ProduceResponse, waiting: Waiting, timeout_ms: int
) -> "Future[ProduceResponse]":
    """Answer when all is committed, or say what is not when the client's patience ends."""
    answered: Future[ProduceResponse] = node.loop.create_future()
    pending = len(waiting)

    def finish() -> None:
        timer.cancel()
        if not answered.done():
            answered.set_result(response)

    def one_done(_: "Future[None]") -> None:
        nonlocal pending
        pending -= 1
        if pending == 0:
            for partition, committed, answer in waiting:
                if committed.cancelled():
                    _fail(answer, _why_never(partition))
            finish()

    def give_up() -> None:
        for _, committed, answer in waiting:
            if not committed.done() or committed.cancelled():
                _fail(answer, ErrorCode.REQUEST_TIMED_OUT)
        finish()

    timer = node.loop.call_later(timeout_ms / 1000, give_up)
    for _, committed, _ in waiting:
        committed.add_done_callback(one_done)
    return answered
