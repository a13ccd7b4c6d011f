"""ApiVersions, versions 0-4: what this broker serves, straight from the route table, which levels
of features it supports, and which are in force.

Clients are not told of requests that only nodes send, nor of those for their metrics while no
subscription asks for any: librdkafka would ask again and again, and log that it does.

A version newer than 4 is answered as version 0 with UNSUPPORTED_VERSION by the dispatcher, so that
the client can ask again.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from barnabas.broker.control.metadata_follower import MetadataFollower
from barnabas.broker.environment import Environment
from barnabas.broker.net.dispatcher import RequestContext, Route
from barnabas.broker.telemetry.telemetry import Telemetry
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from barnabas.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest

_TELEMETRY = (GetTelemetrySubscriptionsRequest.API_KEY, PushTelemetryRequest.API_KEY)
_MAX_SOFTWARE = 200
"""Characters of a name or version, which every connection keeps. Real ones
have ten or twenty."""
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class Needs(Protocol):
    """What this handler asks of the node."""

    environment: Environment
    follower: MetadataFollower
    image: MetadataImage
    telemetry: Telemetry


def handler(
    routes: Iterable[Route[Any]],
) -> Callable[[Needs, ApiVersionsRequest, RequestContext], ApiVersionsResponse]:
    """The handler that answers from `routes`."""
    routes = sorted(routes, key=lambda route: route.api_key)
    for_nodes = _api_keys(routes)
    for_pushing_clients = _api_keys(route for route in routes if not _is_for_nodes_only(route))
    for_clients = [each for each in for_pushing_clients if each.api_key not in _TELEMETRY]

    def handle(
        node: Needs, request: ApiVersionsRequest, context: RequestContext
    ) -> ApiVersionsResponse:
        if context.version >= 3:
            names = (request.client_software_name, request.client_software_version)
            if not all(map(_is_software, names)):
                return ApiVersionsResponse(ErrorCode.INVALID_REQUEST)
            context.connection.software = names
        if context.connection.peer is not None:
            api_keys = for_nodes
        else:
            api_keys = for_pushing_clients if node.telemetry.is_wanted else for_clients
        return ApiVersionsResponse(
            api_keys=api_keys,
            supported_features=[
                SupportedFeatureKey(name, *levels)
                for name, levels in node.environment.release.features.items()
            ],
            finalized_features_epoch=node.follower.end_offset,
            finalized_features=[
                FinalizedFeatureKey(name, level, level)
                for name, level in node.image.features.in_force().items()
            ],
        )

    return handle


def _is_software(text: str) -> bool:
    """By Kafka's rule, which has no limit; this one has."""
    return len(text) <= _MAX_SOFTWARE and _SOFTWARE.fullmatch(text) is not None


def _api_keys(routes: Iterable[Route[Any]]) -> list[ApiVersion]:
    return [ApiVersion(route.api_key, route.min_version, route.max_version) for route in routes]


def _is_for_nodes_only(route: Route[Any]) -> bool:
    """Whether no client may send it: Kafka has these on the listeners of controllers only."""
    return route.peers_only is not None and not route.peers_only.concerns_clients
