"""What the controller decides."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from barnabas.metadata.records import MetadataRecord

AnswerT = TypeVar("AnswerT")


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


@dataclass(slots=True)
class Decision(Generic[AnswerT]):
    """The records to commit, and the answer to send once they are committed."""

    records: list[MetadataRecord]
    answer: AnswerT
    warnings: list[str] = field(default_factory=list)
    """For the operator, such as an unclean election."""
    broker_events: list[BrokerEvent] = field(default_factory=list)
    to_recover: list[tuple[bytes, int]] = field(default_factory=list)
    """Partitions for an unclean election, once the log ends of their replicas are known."""


class Refusal(Exception):  # noqa: N818 - an expected outcome of nested checks
    """The error of one part of a request."""

    def __init__(self, error_code: int, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.message = message
