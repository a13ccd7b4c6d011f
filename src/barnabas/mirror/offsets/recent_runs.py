"""What is known of a partition's offsets, as a text that is committed with its position.

A process that is killed can't tell where its last records are. But every transaction commits the
position together with the records, and with this text: where all records before it are, and how
those of the transaction itself follow each other. Where they begin is in the target's log.

    PRODUCER_ID:AFTER:KNOWN:PENDING

AFTER is an offset of the target: records of the transaction are behind it, and they are the first
of this producer there. KNOWN and PENDING are segments (`segment_format`) in base64; offsets of the
target in PENDING count from the first record of the transaction.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.coordination.record_format import CorruptRecord
from barnabas.mirror.offsets.segment import Segment
from barnabas.mirror.offsets.segment_format import decode_segments, encode_segments
from barnabas.mirror.offsets.translation import Translation

MAX_CHARACTERS = 1_500
"""Brokers take texts of 4,096 bytes by default."""
MAX_SEGMENTS = 64
"""The newer half is exact: the transactions of more than a second, as often as syncs are stored."""


class RunsInTarget(NamedTuple):
    """Consecutive records in the target."""

    offset: int
    records: int


class RecentRuns(NamedTuple):
    """What a committed text says."""

    producer_id: int
    after: int
    known: Sequence[Segment]
    pending: Sequence[Segment]

    @property
    def text(self) -> str:
        """As short as it has to be: neighbours are merged for that."""
        most = MAX_SEGMENTS
        while True:
            known, pending = (_encoded(each, most) for each in (self.known, self.pending))
            text = f"{self.producer_id}:{self.after}:{known}:{pending}"
            if len(text) <= MAX_CHARACTERS or most == 1:
                return text
            most //= 2

    @property
    def records(self) -> int:
        """How many the transaction has written."""
        return self.pending[-1].downstream_end if self.pending else 0

    def located(self, found: Sequence[RunsInTarget]) -> list[Segment]:
        """All segments, if these are the records that the producer has written behind `after`.

        Those of the transaction are left out if others are there than it has written: the target
        was compacted since, or truncated.
        """
        if not self.pending or sum(each.records for each in found) != self.records:
            return list(self.known)
        begin = found[0].offset
        # Others may have written in between: then their records come later than this says.
        spread = found[-1].offset + found[-1].records - begin - self.records
        moved = [
            each._replace(downstream=each.downstream + begin, slack=each.slack + spread)
            for each in self.pending
        ]
        return [*self.known, *moved]


def recent_runs(text: str) -> RecentRuns | None:
    """What a text says; None if it is none of these."""
    try:
        producer_id, after, known, pending = text.split(":")
        return RecentRuns(int(producer_id), int(after), _decoded(known), _decoded(pending))
    except (ValueError, CorruptRecord):
        return None


def segments_of(runs: Iterable[tuple[int, int, int]]) -> list[Segment]:
    """Segments of runs: offset in the source, offset in the target, and records."""
    made = Translation(max_segments=MAX_SEGMENTS)
    for upstream, downstream, records in runs:
        made.add(upstream, downstream, records)
    return made.segments


def _encoded(segments: Sequence[Segment], most: int) -> str:
    if len(segments) > most:
        segments = Translation(segments).thinned(most)
    return urlsafe_b64encode(encode_segments(segments)).decode()


def _decoded(text: str) -> list[Segment]:
    return decode_segments(urlsafe_b64decode(text))
