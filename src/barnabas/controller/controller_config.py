"""How patient the controller is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """Times and limits that hold as long as the controller does.

    What can be changed while running, such as num.partitions, is read from the settings instead.
    """

    session_timeout_ms: int = 3000
    """Silence after which a broker is fenced."""
    disconnect_grace_ms: int = 150
    """Silence after which a broker is fenced whose connection has broken."""
    auto_leader_rebalance: bool = True
    leader_imbalance_check_interval_ms: int = 300_000
    leader_imbalance_percentage: int = 10
    """Leadership is brought back to a broker if others have more than this share of it."""
    leader_return_delay_ms: int = 20_000
    """How long after a broker is back in sync its leadership is looked at, to move it in bulk.

    Longer than clients wait before they try again to connect to a broker that was gone (librdkafka:
    up to 10 s), else they would have to do without the partition so long."""
    max_elections_at_a_time: int = 1000
    """Leaders moved in one decision when balancing, so that it does not hold others up."""
