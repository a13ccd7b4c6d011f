"""ApiVersions, versions 0-4: what this broker serves, straight from the route table.

A version newer than 4 is answered as version 0 with UNSUPPORTED_VERSION by the dispatcher, so that
the client can ask again.
"""

import re
from collections.abc import Callable, Iterable

from barnabas.broker.net.dispatcher import RequestContext, Route
from barnabas.broker.node import Node
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_FEATURE = "transaction.version"
_TRANSACTION_VERSION = 2
"""The epoch of a transactional producer grows with every transaction, if its client knows how."""
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handler(
    routes: Iterable[Route],
) -> Callable[[Node, ApiVersionsRequest, RequestContext], ApiVersionsResponse]:
    """The handler that answers from `routes`."""
    api_keys = [
        ApiVersion(route.api_key, route.min_version, route.max_version)
        for route in sorted(routes, key=lambda route: route.api_key)
    ]

    def handle(
        _: Node, request: ApiVersionsRequest, context: RequestContext
    ) -> ApiVersionsResponse:
        if context.version >= 3:
            names = (request.client_software_name, request.client_software_version)
            if not all(_SOFTWARE.fullmatch(name) for name in names):
                return ApiVersionsResponse(ErrorCode.INVALID_REQUEST)
        return ApiVersionsResponse(
            api_keys=api_keys,
            supported_features=[SupportedFeatureKey(_FEATURE, 1, _TRANSACTION_VERSION)],
            finalized_features_epoch=0,
            finalized_features=[
                FinalizedFeatureKey(_FEATURE, _TRANSACTION_VERSION, _TRANSACTION_VERSION)
            ],
        )

    return handle
