"""What a producer is told: errors as its version knows them, and new leaders."""

from typing import Protocol

from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.coordinator.transaction_verification import UNAVAILABLE
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.leadership import TELLS_LEADER, partition_image
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


class _Needs(Protocol):
    cluster: ClusterView
    image: MetadataImage


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
