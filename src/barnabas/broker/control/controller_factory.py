"""The controller that a node starts when it is elected, as the settings want it."""

from collections.abc import Callable
from random import Random

from barnabas.broker.settings.config import BrokerConfig
from barnabas.controller.controller import Controller
from barnabas.controller.controller_config import ControllerConfig
from barnabas.controller.delegation_tokens import TokenPolicy
from barnabas.metadata.image import MetadataImage


def new_controller(
    config: BrokerConfig,
    image: MetadataImage,
    random: Random,
    now_ms: int,
    wall_ms: Callable[[], int],
) -> Controller:
    membership = config.membership
    tokens = config.tokens
    return Controller(
        image,
        ControllerConfig(
            session_timeout_ms=membership.session_timeout_ms,
            auto_leader_rebalance=membership.auto_leader_rebalance_enable,
            leader_imbalance_check_interval_ms=1000 * membership.imbalance_check_interval_seconds,
            leader_imbalance_percentage=membership.imbalance_percentage,
            tokens=TokenPolicy(
                tokens.secret_key,
                tokens.max_lifetime_ms,
                tokens.expiry_time_ms,
                tokens.expiry_check_interval_ms,
            ),
        ),
        settings=config.settings,
        new_uuid=lambda: random.randbytes(16),
        now_ms=now_ms,
        wall_ms=wall_ms,
    )
