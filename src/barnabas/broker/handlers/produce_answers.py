"""What a producer is told: errors as its version knows them, new leaders, and when all is safe."""

from asyncio import AbstractEventLoop, Future
from functools import partial
from typing import Protocol

from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.coordinator.transaction_verification import UNAVAILABLE
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.leadership import TELLS_LEADER, partition_image
from barnabas.broker.replica.partition import Partition
from barnabas.metadata.image import MetadataImage
from barnabas.records.errors import InvalidBatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
)

ADDS_FROM = 12
"""The version from which a produced batch adds its partition to the transaction."""
_ABORTABLE_FROM = 11

Waiting = list[tuple[Partition, PartitionProduceResponse, int]]
"""What was stored where, and in which epoch of the leader."""


class _Needs(Protocol):
    cluster: ClusterView
    image: MetadataImage
    loop: AbstractEventLoop


def refuse_invalid(answer: PartitionProduceResponse, error: InvalidBatch) -> None:
    answer.error_code = error.error_code
    answer.error_message = str(error)
    answer.record_errors = [
        BatchIndexAndErrorMessage(index, message) for index, message in error.record_errors
    ]


def for_client(error: ErrorCode, version: int) -> ErrorCode:
    """The error code that a client of this version handles correctly."""
    if error is ErrorCode.CONCURRENT_TRANSACTIONS and version >= ADDS_FROM:
        return error
    if error in UNAVAILABLE:
        return ErrorCode.NOT_ENOUGH_REPLICAS  # every client retries this
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH  # as when the log sees it, in every version
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_FROM:
        return ErrorCode.INVALID_TXN_STATE
    return error


def tell_leaders(node: _Needs, response: ProduceResponse, context: RequestContext) -> None:
    """Add the leaders, and their addresses, of partitions that are not led here."""
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


def answer_when_committed(
    node: _Needs, response: ProduceResponse, waiting: Waiting, timeout_ms: int
) -> "ProduceResponse | Future[ProduceResponse]":
    """Answer when all is committed, or with what is not when that is sure or takes too long."""
    waiting = [
        each
        for each in waiting
        if each[0].high_watermark < each[0].log.log_end_offset and not each[1].error_code
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

    for partition, answer, _ in waiting:
        end = partition.log.log_end_offset
        partition.when_committed(end, timeout_ms, partial(one_done, answer))
    return answered
