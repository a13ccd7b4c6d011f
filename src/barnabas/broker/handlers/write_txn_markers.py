"""WriteTxnMarkers, versions 1-2: end transactions in the partitions that are led here.

Coordinators ask for it. Of a coordinator only the newest connection is heard: what it has asked on
an older one, and then asked again, could end the transaction that comes next.

Operators ask for it too, to roll back what hangs (`hanging_transactions.py`).
"""

from asyncio import AbstractEventLoop, Future
from typing import Protocol

from barnabas.broker.coordinator.marker_connections import MarkerConnections
from barnabas.broker.handlers import hanging_transactions
from barnabas.broker.handlers.hanging_transactions import roll_back_hanging
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.messages.write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from barnabas.wire.primitives import WireError


class Needs(hanging_transactions.Needs, Protocol):
    """What this handler asks of the node."""

    loop: AbstractEventLoop
    marker_connections: MarkerConnections


def handle(
    node: Needs, request: WriteTxnMarkersRequest, context: RequestContext
) -> "Future[WriteTxnMarkersResponse]":
    peer = context.connection.peer
    if peer is None:
        return node.loop.create_task(roll_back_hanging(node, request))
    if not node.marker_connections.is_newest(peer.node_id, context.connection):
        raise WireError("the coordinator has a newer connection for markers")
    return node.marker_appends.write(request)
