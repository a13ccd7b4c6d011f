"""Which offset of the target corresponds to which of the source.

A sync says: `records` of the source from `upstream` on are in the target from `downstream`
on, one after the other. Between syncs there are offsets without records: transaction markers,
aborted transactions, and what compaction has removed.

The process that writes records knows both offsets, and reports them in the order of writing.
"""

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition


class OffsetSync(NamedTuple):
    """A run of records, copied by one committed transaction."""

    source: TopicPartition
    target: TopicPartition
    upstream: int
    """Offset of the first record in the source."""
    downstream: int
    """Its offset in the target."""
    records: int

    @property
    def upstream_end(self) -> int:
        return self.upstream + self.records

    @property
    def downstream_end(self) -> int:
        return self.downstream + self.records


def merged(syncs: Iterable[OffsetSync]) -> list[OffsetSync]:
    """Neighbours that continue each other as one; the order stays, within each partition."""
    made: list[OffsetSync] = []
    for each in syncs:
        last = made[-1] if made else None
        if (
            last is not None
            and last.source == each.source
            and last.target == each.target
            and last.upstream_end == each.upstream
            and last.downstream_end == each.downstream
        ):
            made[-1] = last._replace(records=last.records + each.records)
        else:
            made.append(each)
    return made
