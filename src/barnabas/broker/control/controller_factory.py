"""The controller that a node starts when it is elected, as the settings want it."""

from random import Random

from barnabas.broker.settings.config import BrokerConfig
from barnabas.controller.controller import Controller
from barnabas.controller.controller_config import ControllerConfig
from barnabas.metadata.image import MetadataImage


def new_controller(
    config: BrokerConfig, image: MetadataImage, random: Random, now_ms: int
) -> Controller:
    membership = config.membership
    return Controller(
        image,
        ControllerConfig(
            session_timeout_ms=membership.session_timeout_ms,
            auto_leader_rebalance=membership.auto_leader_rebalance_enable,
            leader_imbalance_check_interval_ms=1000 * membership.imbalance_check_interval_seconds,
            leader_imbalance_percentage=membership.imbalance_percentage,
        ),
        settings=config.settings,
        new_uuid=lambda: random.randbytes(16),
        now_ms=now_ms,
    )
