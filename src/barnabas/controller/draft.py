"""A decision while it is made."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from barnabas.controller.decision import BrokerEvent, Decision
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import MetadataRecord

AnswerT = TypeVar("AnswerT")


@dataclass(slots=True)
class Draft:
    """Records that are replayed into the pending image as they are written.

    So each record can depend on those before it. A record can't be undone: the caller checks
    everything before it writes the first one.
    """

    image: MetadataImage
    unclean: Callable[[str], bool]
    """Whether unclean elections are allowed for a topic."""
    min_isr: Callable[[str], int]
    """A topic's `min.insync.replicas`."""
    behind: Collection[int] = ()
    """Brokers that do not keep up with the metadata log: others are elected before them."""
    records: list[MetadataRecord] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    broker_events: list[BrokerEvent] = field(default_factory=list)
    to_recover: list[tuple[bytes, int]] = field(default_factory=list)
    """Partitions without a leader that allow an unclean election, by topic id and index."""

    def write(self, record: MetadataRecord) -> None:
        self.image.replay(record)
        self.records.append(record)

    def write_all(self, records: Iterable[MetadataRecord]) -> None:
        for record in records:
            self.write(record)

    def decision(self, answer: AnswerT) -> Decision[AnswerT]:
        return Decision(self.records, answer, self.warnings, self.broker_events, self.to_recover)
