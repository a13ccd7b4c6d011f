"""What a decider returns."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from barnabas.metadata.records import MetadataRecord

AnswerT = TypeVar("AnswerT")


@dataclass(slots=True)
class Decision(Generic[AnswerT]):
    """The records to agree on, and the answer to give once they are."""

    records: list[MetadataRecord]
    answer: AnswerT
    warnings: list[str] = field(default_factory=list)
    """What an operator must hear of, such as an unclean election."""
    to_recover: list[tuple[bytes, int]] = field(default_factory=list)
    """Partitions to be led uncleanly, once their replicas have said how far their logs go."""


class Refusal(Exception):  # noqa: N818 - an expected outcome, carried out of nested checks
    """Why one part of a request is refused."""

    def __init__(self, error_code: int, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.message = message
