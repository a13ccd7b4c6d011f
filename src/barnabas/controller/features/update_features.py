"""UpdateFeatures: raise the level of a feature, once all nodes support it.

A level is never lowered: nodes of older releases can't read what may have been written since. All
updates of a request are made, or none.
"""

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.controller.features.node_features import AllFeatures, epoch_of
from barnabas.metadata.features import SUPPORTED, FeatureRange
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata_records import FeatureLevelRecord
from barnabas.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPGRADE = 1
SAFE_DOWNGRADE = 2
UNSAFE_DOWNGRADE = 3

_OFF = FeatureRange(0, 0)


def update_features(
    draft: Draft, request: UpdateFeaturesRequest, nodes: AllFeatures
) -> UpdateFeaturesResponse:
    """`nodes` are all brokers and voters, which were asked before."""
    names = [update.feature for update in request.feature_updates]
    try:
        if len(set(names)) < len(names):
            raise Refusal(ErrorCode.INVALID_REQUEST, "a feature is named twice")
        wanted = [each for each in request.feature_updates if _is_change(draft.image, each)]
        for update in wanted:
            _check_nodes(draft.image, update, nodes)
    except Refusal as refusal:
        return UpdateFeaturesResponse(error_code=refusal.error_code, error_message=refusal.message)
    if not request.validate_only:
        draft.write_all(FeatureLevelRecord(each.feature, each.max_version_level) for each in wanted)
    return UpdateFeaturesResponse(error_message=None)


def _is_change(image: MetadataImage, update: FeatureUpdateKey) -> bool:
    """Whether the update raises a level; one that is in force already changes nothing. Raises
    `Refusal`."""
    name, wanted = update.feature, update.max_version_level
    level = image.features.level(name)
    if name not in SUPPORTED:
        raise _invalid(update, "there is no such feature")
    if update.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _invalid(update, f"{update.upgrade_type} is not a type of upgrade")
    if wanted < level:
        raise _invalid(
            update, f"it is {level}, and older releases can't read what was written since"
        )
    if wanted > level and update.upgrade_type != UPGRADE:
        raise _invalid(update, f"it is {level}, so this is no downgrade")
    return wanted > level


def _check_nodes(image: MetadataImage, update: FeatureUpdateKey, nodes: AllFeatures) -> None:
    name, wanted = update.feature, update.max_version_level
    for node_id in sorted(nodes.keys() | image.brokers.keys()):
        node = nodes.get(node_id)
        if node is None or node.ranges is None:
            raise _invalid(
                update,
                f"node {node_id} does not tell what it supports: start it, or remove it with "
                f"`barnabas cluster remove-node {node_id}`",
            )
        if node.broker_epoch != epoch_of(image, node_id):
            raise _invalid(update, f"node {node_id} has just restarted: try again")
        supported = node.ranges.get(name, _OFF)
        if not supported.oldest <= wanted <= supported.newest:
            raise _invalid(
                update,
                f"node {node_id} supports {supported}: install a newer release on it"
                if wanted > supported.newest
                else f"node {node_id} supports {supported}",
            )


def _invalid(update: FeatureUpdateKey, why: str) -> Refusal:
    return Refusal(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Invalid update version {update.max_version_level} for feature {update.feature}: {why}",
    )
