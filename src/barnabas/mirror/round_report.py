"""What a round has copied, as tasks report it to the driver.

A round is a micro-batch of Spark; its rows are the rows of this report. `ReportRow` is one of them,
with the columns of `SCHEMA`. There are five kinds:

    sync       a run of records: `topic`, `target_topic`, `partition`, `upstream`, `downstream`,
               `records`, `bytes`, and `timestamp_ms` of the last of them
    earlier    a sync from between the last round and this one, before all others
    late       a sync from before the last round, too late to be used: it is counted
    state      a partition at the end of the round: `upstream` is its position, `downstream` -1,
               `records` the records in the source that are left
    problem    something that somebody should know: `message`

Syncs of a partition come in the order of writing. A round that is repeated, because the driver died
before it was done, reports what is left to copy: syncs may be missing, and never wrong.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.syncs import OffsetSync

SCHEMA = (
    "kind STRING, topic STRING, target_topic STRING, partition INT, upstream BIGINT, "
    "downstream BIGINT, records BIGINT, bytes BIGINT, timestamp_ms BIGINT, message STRING"
)
SYNC, STATE, PROBLEM = "sync", "state", "problem"
EARLIER, LATE = "earlier", "late"
UNKNOWN = -1


class ReportRow(NamedTuple):
    """A row of a report, in the order of `SCHEMA`."""

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
    """A whole round."""

    syncs: list[OffsetSync] = field(default_factory=list)
    states: list[PartitionState] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    records: int = 0
    bytes: int = 0


class RoundListener(Protocol):
    """Hears of every round, in the driver, before the next one begins.

    What it raises fails the query; retriable errors of clusters are better reported and left for
    the next round.
    """

    def on_round(self, report: RoundReport) -> None:
        """A round is done."""


def report_of(rows: Iterable[Iterable[Any]]) -> RoundReport:
    """The report that rows make, in any order of partitions."""
    report = RoundReport()
    earlier: list[OffsetSync] = []
    for row in map(ReportRow._make, rows):
        if row.kind == PROBLEM:
            report.problems.append(row.message)
            continue
        source = TopicPartition(row.topic, row.partition)
        target = TopicPartition(row.target_topic, row.partition)
        if row.kind in (SYNC, EARLIER, LATE):
            report.records += row.records
            report.bytes += row.bytes
            if row.kind == LATE:
                continue
            syncs = report.syncs if row.kind == SYNC else earlier
            syncs.append(OffsetSync(source, target, row.upstream, row.downstream, row.records))
        else:
            report.states.append(
                PartitionState(source, target, row.upstream, row.records, row.timestamp_ms)
            )
    report.syncs[:0] = earlier
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
