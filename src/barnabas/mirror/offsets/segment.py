"""A stretch of one partition where offsets of source and target grow together.

    downstream                      ________  downstream + length
                                   /
                  ________________/           downstream
    upstream     since        upstream   + length

It gives every offset x of the source from `since` on, up to the next segment, a lower bound of
where the first copied record at x or after it is in the target: `downstream`, then one more for
each offset, then `downstream + length`. A segment of one copied run is exact. Two segments can be
merged into one that lies below both, which is how memory stays bounded: merging loses precision,
in offsets, but never passes a record.

`slack` serves the other direction. A record at x is in the target at most `slack` after the slope.
"""

from typing import NamedTuple


class Segment(NamedTuple):
    """A lower bound of the translation, from `since` on."""

    since: int
    """Where it begins; `upstream` unless it is merged."""
    upstream: int
    downstream: int
    length: int
    slack: int = 0

    @property
    def shift(self) -> int:
        """What is added to an offset of the source."""
        return self.downstream - self.upstream

    @property
    def upstream_end(self) -> int:
        return self.upstream + self.length

    @property
    def downstream_end(self) -> int:
        return self.downstream + self.length

    @property
    def surely_read(self) -> int:
        """An offset of the source that all records after this segment are at or behind."""
        return self.upstream_end - self.slack

    def translate(self, upstream: int) -> int:
        """Where the first record at `upstream` or after it is, or before that."""
        return self.downstream + min(max(upstream - self.upstream, 0), self.length)

    def invert(self, downstream: int) -> int:
        """Which record of the source is the first at `downstream` or after it, or one before."""
        reached = min(max(downstream, self.downstream), self.downstream_end)
        return max(self.since, reached - self.shift - self.slack)


def continues(first: Segment, second: Segment) -> bool:
    """Whether both are one straight line: what `merge` makes of them is as exact as they are."""
    return (
        first.slack == second.slack
        and first.shift == second.shift
        and first.upstream_end >= second.since
    )


def merge(first: Segment, second: Segment) -> Segment:
    """One segment below two neighbours.

    The line is shifted so that it stays below the second one, and below the end of the first one
    where nothing is known between them: records may have been copied there without a report.
    """
    shift = min(second.shift, first.downstream_end - max(second.since, first.upstream_end))
    highest = max(first.shift + first.slack, second.shift + second.slack)
    if second.since > first.surely_read:
        highest = max(highest, second.downstream - first.surely_read)
    return Segment(
        first.since,
        first.downstream - shift,
        first.downstream,
        second.downstream_end - first.downstream,
        highest - shift,
    )
