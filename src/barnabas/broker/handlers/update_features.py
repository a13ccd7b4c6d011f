"""UpdateFeatures, versions 0-2: the features of a cluster are fixed.

A request that asks for what is in force already succeeds, as in Kafka; any other is refused as a
whole with INVALID_UPDATE_VERSION.
"""

from barnabas.broker.handlers.api_versions import FEATURES
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_ONE_ERROR_FROM = 2


def handle(
    _: object, request: UpdateFeaturesRequest, context: RequestContext
) -> UpdateFeaturesResponse:
    refusals = {update.feature: _refusal(update) for update in request.feature_updates}
    first = next((why for why in refusals.values() if why is not None), None)
    if context.version >= _ONE_ERROR_FROM:
        error = ErrorCode.NONE if first is None else ErrorCode.INVALID_UPDATE_VERSION
        return UpdateFeaturesResponse(error_code=error, error_message=first)
    return UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(
                feature,
                ErrorCode.NONE if first is None else ErrorCode.INVALID_UPDATE_VERSION,
                why or first,
            )
            for feature, why in refusals.items()
        ],
    )


def _refusal(update: FeatureUpdateKey) -> str | None:
    wanted, level = update.max_version_level, FEATURES.get(update.feature)
    if level == wanted:
        return None
    why = "there is no such feature" if level is None else f"it is {level} and can't be changed"
    return f"Invalid update version {wanted} for feature {update.feature}: {why}"
