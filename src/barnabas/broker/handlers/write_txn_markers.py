"""WriteTxnMarkers, versions 1-2: end transactions in the partitions that are led here.

Coordinators ask for it, and administrators who end one that hangs. Of a coordinator only the newest
connection is heard: what it has asked on an older one, and then asked again, could end the
transaction that comes next.
"""

from asyncio import Future

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.broker.peers import is_peer
from barnabas.wire.messages.write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from barnabas.wire.primitives import WireError


def handle(
    node: Node, request: WriteTxnMarkersRequest, context: RequestContext
) -> "Future[WriteTxnMarkersResponse]":
    if is_peer(context.client_id) and not node.marker_lanes.is_newest(
        context.client_id, context.connection
    ):
        raise WireError("there is a newer connection for markers")
    return node.marker_writing.write(request)
