"""A new cluster begins with the newest levels that all of its voters support.

A cluster that was upgraded keeps its levels until they are raised (`barnabas cluster upgrade`):
until then its nodes can go back to the release before.
"""

import logging
from asyncio import sleep

from barnabas.broker.control.active_controller import NotAgreed, NotController
from barnabas.broker.control.controller_calls import ControllerCalls
from barnabas.metadata.features import METADATA_VERSION, FeatureRanges
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

logger = logging.getLogger(__name__)

_ATTEMPTS = 20
_RETRY_S = 0.25


async def raise_first_levels(calls: ControllerCalls, supported: FeatureRanges) -> None:
    """Raise them while this node is the controller, for as long as a new cluster takes to start."""
    update = FeatureUpdateKey(METADATA_VERSION, supported[METADATA_VERSION].newest)
    why: str | None = ""
    for _ in range(_ATTEMPTS):
        try:
            answer = await calls.decide_here(UpdateFeaturesRequest(feature_updates=[update]))
        except (NotController, NotAgreed):
            return
        if not answer.error_code:
            return
        why = answer.error_message
        await sleep(_RETRY_S)
    logger.info("the new cluster begins with an older level: %s", why)
