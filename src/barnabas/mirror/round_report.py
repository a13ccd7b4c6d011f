"""What was copied, as tasks report it to the driver: every second, and at the end of a round.

`ReportRow` is a row of a report. There are three kinds:

    sync       a run of records: `topic`, `target_topic`, `partition`, `upstream`, `downstream`,
               `records`, `bytes`, and `timestamp_ms` of the last of them
    state      where a partition stands: `upstream` is its position, `downstream` -1, `records` the
               records in the source that are left
    problem    something that somebody should know: `message`

Syncs of a partition come in the order of writing. If the driver or a task dies, syncs may be
missing, and are never wrong.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.syncs import OffsetSync

SYNC, STATE, PROBLEM = "sync", "state", "problem"
DATA_LOST = "DATA LOST"
"""How a problem begins that is told once."""
UNKNOWN = -1


class ReportRow(NamedTuple):
    """A row of a report."""

    kind: str
    topic: str = ""
    target_topic: str = ""
    partition: int = UNKNOWN
    upstream: int = UNKNOWN
    downstream: int = UNKNOWN
    records: int = 0
    bytes: int = 0
    timestamp_ms: int = UNKNOWN
    message: str = ""


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
    """Of the last record that was copied in this round; `UNKNOWN` if none was."""


@dataclass
class RoundReport:
    """What was copied since the report before it, of one task."""

    syncs: list[OffsetSync] = field(default_factory=list)
    states: list[PartitionState] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    records: int = 0
    bytes: int = 0


class ReportListener(Protocol):
    """Hears of every report, in the driver. A `BarnabasError` that it raises ends the flow."""

    def on_report(self, report: RoundReport) -> None:
        """Take a report; it is called by one thread at a time."""


def report_of(rows: Iterable[Iterable[Any]]) -> RoundReport:
    """The report that rows make, in any order of partitions."""
    report = RoundReport()
    for row in map(ReportRow._make, rows):
        if row.kind == PROBLEM:
            report.problems.append(row.message)
            continue
        source = TopicPartition(row.topic, row.partition)
        target = TopicPartition(row.target_topic, row.partition)
        if row.kind == SYNC:
            report.records += row.records
            report.bytes += row.bytes
            sync = OffsetSync(source, target, row.upstream, row.downstream, row.records)
            report.syncs.append(sync)
        else:
            report.states.append(
                PartitionState(source, target, row.upstream, row.records, row.timestamp_ms)
            )
    return report


def sync_rows(syncs: Iterable[OffsetSync]) -> Iterator[ReportRow]:
    """Rows of syncs, without sizes."""
    for each in syncs:
        yield ReportRow(
            SYNC,
            each.source.topic,
            each.target.topic,
            each.source.partition,
            each.upstream,
            each.downstream,
            each.records,
        )
