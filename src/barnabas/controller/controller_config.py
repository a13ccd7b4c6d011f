"""Timeouts and limits of the controller."""

from dataclasses import dataclass, field

from barnabas.controller.delegation_tokens import TokenPolicy


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """Fixed for the lifetime of a controller.

    Dynamic settings, such as num.partitions, are read from the image instead.
    """

    session_timeout_ms: int = 3000
    """A broker is fenced after this long without a heartbeat."""
    disconnect_grace_ms: int = 150
    """The same for a broker whose connection broke."""
    stuck_sessions: int = 2
    """A broker is stuck after this many session timeouts in which it replayed nothing of the
    metadata log, although others did."""
    auto_leader_rebalance: bool = True
    leader_imbalance_check_interval_ms: int = 300_000
    leader_imbalance_percentage: int = 10
    """Leadership moves back to a broker if others lead more than this share of its partitions."""
    leader_return_delay_ms: int = 20_000
    """How long after a broker is back in sync leadership is balanced, to move it in bulk.

    Longer than clients wait before they reconnect to a broker that was down (librdkafka: up to
    10 s), because until then the partition would not be available to them."""
    max_elections_at_a_time: int = 1000
    """Leaders moved in one decision, when balancing or away from stuck brokers, so that other
    decisions do not wait."""
    tokens: TokenPolicy = field(default_factory=TokenPolicy)
