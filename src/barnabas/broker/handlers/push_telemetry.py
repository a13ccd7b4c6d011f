"""PushTelemetry, version 0: metrics of a client, in OpenTelemetry's format (KIP-714).

What is pushed is shown at /metrics. A push is refused if it comes too early
(THROTTLING_QUOTA_EXCEEDED), for a subscription that has changed (UNKNOWN_SUBSCRIPTION_ID), in an
unknown compression, with more than `telemetry.max.bytes` (TELEMETRY_TOO_LARGE), after the one with
which the client said that it was ending, or if it can't be read (INVALID_RECORD).
"""

from typing import Protocol

from barnabas.broker.handlers.get_telemetry_subscriptions import client_of
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.telemetry.telemetry import Push, Telemetry
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse


class Needs(Protocol):
    """What this handler asks of the node."""

    telemetry: Telemetry


def handle(
    node: Needs, request: PushTelemetryRequest, context: RequestContext
) -> PushTelemetryResponse:
    push = Push(
        request.client_instance_id,
        request.subscription_id,
        request.terminating,
        request.compression_type,
        request.metrics,
    )
    return PushTelemetryResponse(error_code=node.telemetry.push(push, client_of(context)))
