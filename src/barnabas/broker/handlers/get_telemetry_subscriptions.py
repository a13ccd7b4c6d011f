"""GetTelemetrySubscriptions, version 0: which metrics a client pushes, and how often (KIP-714).

Any client may ask. One that asks again before its interval is over is refused with
THROTTLING_QUOTA_EXCEEDED. Without a subscription that matches, the list of metrics is empty, and
the client asks again after five minutes.
"""

from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.telemetry.telemetry import ACCEPTED_COMPRESSION, Client, Telemetry
from barnabas.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    telemetry: Telemetry


def handle(
    node: Needs, request: GetTelemetrySubscriptionsRequest, context: RequestContext
) -> GetTelemetrySubscriptionsResponse:
    error, instance_id, wanted = node.telemetry.ask(request.client_instance_id, client_of(context))
    if error:
        return GetTelemetrySubscriptionsResponse(error_code=error)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=wanted.subscription_id,
        accepted_compression_types=[int(codec) for codec in ACCEPTED_COMPRESSION],
        push_interval_ms=wanted.interval_ms,
        telemetry_max_bytes=node.telemetry.max_bytes(),
        delta_temporality=True,
        requested_metrics=list(wanted.metrics),
    )


def client_of(context: RequestContext) -> Client:
    connection = context.connection
    return Client(
        context.client_id, connection.software, connection.client_host, connection.client_port
    )
