"""What a process has copied, as all who keep count of it hear: once a second."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.offsets.segment import Segment
from barnabas.mirror.syncs import OffsetSync

DATA_LOST = "DATA LOST"
"""How a problem begins that is told once."""
UNKNOWN = -1


class PartitionState(NamedTuple):
    """Where a partition stands."""

    source: TopicPartition
    target: TopicPartition
    position: int
    """Offset in the source of the record that is copied next."""
    lag: int
    """Offsets between the position and the end of what is committed in the source; `UNKNOWN` if
    the source did not answer."""
    timestamp_ms: int
    """Of the last record that this process has copied; `UNKNOWN` if it has copied none."""


class RecoveredPartition(NamedTuple):
    """What the target says of records that other processes have copied."""

    source: TopicPartition
    target: TopicPartition
    segments: Sequence[Segment]


@dataclass
class CopyReport:
    """What was copied since the report before it."""

    recovered: list[RecoveredPartition] = field(default_factory=list)
    """Of partitions that were taken over; `syncs` come after it."""
    syncs: list[OffsetSync] = field(default_factory=list)
    """In the order of writing, for each partition."""
    states: list[PartitionState] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    records: int = 0
    bytes: int = 0
    """Both without heartbeats."""


class ReportListener(Protocol):
    """Hears of every report, in the loop that copies."""

    def on_report(self, report: CopyReport) -> None:
        """Take a report."""
