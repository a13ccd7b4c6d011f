"""Rolling back a transaction that hangs, for an operator.

A transaction hangs where it is open in a partition and no coordinator will end it there. Any client
may ask for its end, so the leader looks itself: the producer must have a transaction open in the
partition, in that very epoch, and no coordinator may know of it. Else the marker would tear a
transaction that goes on, whose other partitions are committed later.
"""

from collections.abc import Collection
from typing import Protocol

from barnabas.broker.coordinator.marker_appends import NO_MARKERS, MarkerAppends
from barnabas.broker.handlers import describe_transactions, list_transactions
from barnabas.broker.handlers.describe_transactions import describe_here
from barnabas.broker.handlers.list_transactions import list_here
from barnabas.broker.handlers.node_only_requests import refuse_markers
from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.slices import Slicer, awaited
from barnabas.log import StorageError
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

_LANE = "hanging"
_TIMEOUT_MS = 5_000
_MAX_MARKERS = 100


class Needs(describe_transactions.Needs, list_transactions.ListingNeeds, Protocol):
    """What this handler asks of the node."""

    image: MetadataImage
    marker_appends: MarkerAppends
    node_id: int
    partitions: Partitions
    peers: Peers


async def roll_back_hanging(
    node: Needs, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    if len(request.markers) > _MAX_MARKERS:
        return refuse_markers(request, ErrorCode.INVALID_REQUEST)
    if any(topic.name in NO_MARKERS for marker in request.markers for topic in marker.topics):
        return refuse_markers(request)
    for marker in request.markers:
        error = _open_error(node, marker)
        if error is not ErrorCode.NONE:
            return refuse_markers(request, error)
    error = await _coordinators_error(node, request)
    if error is not ErrorCode.NONE:
        return refuse_markers(request, error)
    for marker in request.markers:
        if _open_error(node, marker) is not ErrorCode.NONE:  # it has ended meanwhile
            return refuse_markers(request, ErrorCode.INVALID_TXN_STATE)
    return await node.marker_appends.write(request)


def _open_error(node: Needs, marker: WritableTxnMarker) -> ErrorCode:
    """Whether this very transaction is open in all the partitions."""
    for topic in marker.topics:
        for index in topic.partition_indexes:
            found = node.partitions.find(topic.name, index)
            if isinstance(found, ErrorCode):
                return found
            try:
                is_open = found.log.producer_state.ongoing_transaction(
                    marker.producer_id, marker.producer_epoch
                )
                known_epoch = found.log.producer_state.table.coordinator_epoch(marker.producer_id)
            except StorageError:
                return ErrorCode.KAFKA_STORAGE_ERROR
            if is_open is None:
                return ErrorCode.INVALID_TXN_STATE
            if marker.coordinator_epoch > max(known_epoch, 0):
                # It would fence the coordinator, whose markers have a lower one.
                return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return ErrorCode.NONE


async def _coordinators_error(node: Needs, request: WriteTxnMarkersRequest) -> ErrorCode:
    """NONE if no coordinator knows of the transactions in these partitions."""
    wanted = {
        (marker.producer_id, topic.name, index)
        for marker in request.markers
        for topic in marker.topics
        for index in topic.partition_indexes
    }
    producer_ids = sorted({producer_id for producer_id, _, _ in wanted})
    for broker_id in sorted(node.image.brokers):
        known = await _known_to(node, broker_id, producer_ids)
        if known is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not wanted.isdisjoint(known):
            return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.NONE


async def _known_to(
    node: Needs, broker_id: int, producer_ids: list[int]
) -> Collection[tuple[int, str, int]] | None:
    """Producers and partitions of the transactions that a node coordinates; None: it is unknown."""
    listing = ListTransactionsRequest(producer_id_filters=producer_ids)
    try:
        if broker_id == node.node_id:
            listed = await awaited(list_here(node, listing, Slicer(None)))
        else:
            listed = await node.peers.call(
                broker_id, listing, listing.MAX_VERSION, timeout_ms=_TIMEOUT_MS, lane=_LANE
            )
        if listed.error_code:
            return None
        names = [state.transactional_id for state in listed.transaction_states]
        if broker_id == node.node_id:
            described = [describe_here(node, name) for name in names]
        else:
            question = DescribeTransactionsRequest(names)
            answer = await node.peers.call(
                broker_id, question, question.MAX_VERSION, timeout_ms=_TIMEOUT_MS, lane=_LANE
            )
            described = answer.transaction_states
    except PeerUnavailable:
        return None
    return {
        (state.producer_id, topic.topic, index)
        for state in described
        for topic in state.topics
        for index in topic.partitions
    }
