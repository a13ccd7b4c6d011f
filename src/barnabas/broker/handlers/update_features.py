"""UpdateFeatures, versions 0-2: raise levels of features; the controller decides.

It raises a level once all nodes support it, and lowers none (`controller/features`). All updates
of a request are made, or none. Up to version 1 the result is told for each feature.
"""

from barnabas.broker.handlers import for_controller
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.controller.features.update_features import SAFE_DOWNGRADE
from barnabas.wire.message import Response
from barnabas.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_ONE_ERROR_FROM = 2
_TYPES_FROM = 1


async def handle(
    node: for_controller.Needs, request: UpdateFeaturesRequest, context: RequestContext
) -> Response:
    if context.version < _TYPES_FROM:
        request = _with_types(request)
    response = await for_controller.handle(node, request, context)
    assert isinstance(response, UpdateFeaturesResponse)
    if context.version >= _ONE_ERROR_FROM:
        return response
    return UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(
                update.feature, response.error_code, response.error_message or None
            )
            for update in request.feature_updates
        ],
    )


def _with_types(request: UpdateFeaturesRequest) -> UpdateFeaturesRequest:
    """In the newest version, in which it is forwarded."""
    updates = [
        FeatureUpdateKey(
            update.feature,
            update.max_version_level,
            upgrade_type=SAFE_DOWNGRADE if update.allow_downgrade else update.upgrade_type,
        )
        for update in request.feature_updates
    ]
    return UpdateFeaturesRequest(request.timeout_ms, updates)
