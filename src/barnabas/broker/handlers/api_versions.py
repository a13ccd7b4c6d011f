"""ApiVersions, versions 0-4: what this broker serves, straight from the route table.

Clients are not told of requests that only nodes send.

A version newer than 4 is answered as version 0 with UNSUPPORTED_VERSION by the dispatcher, so that
the client can ask again.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from barnabas.broker.net.dispatcher import RequestContext, Route
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

FEATURES = {"share.version": 1, "transaction.version": 2}
"""What is finalized: share groups, and that the epoch of a transactional producer grows with every
transaction, if its client knows how."""
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handler(
    routes: Iterable[Route[Any]],
) -> Callable[[object, ApiVersionsRequest, RequestContext], ApiVersionsResponse]:
    """The handler that answers from `routes`."""
    routes = sorted(routes, key=lambda route: route.api_key)
    for_nodes = _api_keys(routes)
    for_clients = _api_keys(route for route in routes if not _is_for_nodes_only(route))

    def handle(
        _: object, request: ApiVersionsRequest, context: RequestContext
    ) -> ApiVersionsResponse:
        if context.version >= 3:
            names = (request.client_software_name, request.client_software_version)
            if not all(_SOFTWARE.fullmatch(name) for name in names):
                return ApiVersionsResponse(ErrorCode.INVALID_REQUEST)
        return ApiVersionsResponse(
            api_keys=for_clients if context.connection.peer is None else for_nodes,
            supported_features=[
                SupportedFeatureKey(name, 1, level) for name, level in FEATURES.items()
            ],
            finalized_features_epoch=0,
            finalized_features=[
                FinalizedFeatureKey(name, level, level) for name, level in FEATURES.items()
            ],
        )

    return handle


def _api_keys(routes: Iterable[Route[Any]]) -> list[ApiVersion]:
    return [ApiVersion(route.api_key, route.min_version, route.max_version) for route in routes]


def _is_for_nodes_only(route: Route[Any]) -> bool:
    """Whether no client may send it: Kafka has these on the listeners of controllers only."""
    return route.peers_only is not None and not route.peers_only.concerns_clients
