"""What the controller decides."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from barnabas.controller.broker_events import BrokerEvent
from barnabas.metadata.records import MetadataRecord

AnswerT = TypeVar("AnswerT")


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
