"""What happens to brokers, for the log of the controller's node."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BrokerSilent:
    """The controller fences a broker that has sent no heartbeat."""

    broker_id: int
    silent_ms: int
    is_disconnected: bool
    """Its connection has broken, which shortens its session."""
    led: int
    """How many partitions it led."""


@dataclass(frozen=True, slots=True)
class BrokerUnfenced:
    """A broker may lead partitions."""

    broker_id: int
    is_back: bool
    """Whether it was unfenced before."""


BrokerEvent = BrokerSilent | BrokerUnfenced
