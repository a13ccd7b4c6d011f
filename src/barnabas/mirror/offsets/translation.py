"""Translation of offsets of one partition.

What is known comes from two sides, and the larger of both is used, as both are lower bounds:

- **Segments**, from reports of what was copied: exact for each record. Reports come late, and those
  of a task that dies do not come at all.
- **Anchors**, seen from outside: the end of the target's committed records, and then the flow's
  position. Records from that position on are after that end, whatever dies. So a group that has
  read everything goes on at the end, and repeats nothing.

Memory is bounded. When there are too many segments, neighbours in the older half are merged: the
newest stay exact, and precision falls in proportion to the number of transactions since.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from barnabas.mirror.offsets.segment import Segment, continues, merge

MAX_SEGMENTS = 1024
MAX_ANCHORS = 64


class Translation:
    """One partition: from offsets of the source to those of the target, and back."""

    def __init__(self, segments: Sequence[Segment] = (), max_segments: int = MAX_SEGMENTS) -> None:
        self.segments = list(segments)
        self._max_segments = max_segments
        self._anchors: list[Segment] = []
        self._anchored_at: int | None = None
        self._ends: list[tuple[int, int]] = []

    @property
    def upstream_end(self) -> int | None:
        """The offset after the last record that is known to be copied."""
        return self.segments[-1].upstream_end if self.segments else None

    def add(self, upstream: int, downstream: int, count: int) -> None:
        """Records from `upstream` on were written from `downstream` on.

        Others may have been written before it without a report. An offset before what is known
        means that the topic was made again, on either side.
        """
        added = Segment(upstream, upstream, downstream, count)
        last = self.segments[-1] if self.segments else None
        if last is None:
            self.segments.append(added)
            return
        if upstream < last.surely_read or downstream < last.downstream_end:
            self.segments = [added]
            self._anchors.clear()
            return
        if continues(last, added):
            self.segments[-1] = merge(last, added)
        else:
            self.segments.append(added)
            if len(self.segments) > self._max_segments:
                self._merge_oldest()
        end = added.upstream_end
        self._anchors = [each for each in self._anchors if each.upstream >= end]

    def extend(self, segments: Iterable[Segment]) -> None:
        """Take over what is known from elsewhere, of offsets behind those that are known here."""
        for each in segments:
            end = self.upstream_end
            if end is None or each.since >= end:
                self.segments.append(each)
            elif each.upstream_end > end:
                self.segments.append(each._replace(since=end))
            else:
                continue
            if len(self.segments) > self._max_segments:
                self._merge_oldest()

    def anchor(self, position: int, end: int, before: int | None = None) -> None:
        """The flow was at `position` of the source after the target had ended at `end`.

        It was at `before` when that end was looked up, at `position` if not given.
        """
        anchors = self._anchors
        self._anchored_at = position if before is None else before
        last = anchors[-1] if anchors else None
        if last is not None and (position < last.upstream or end < last.downstream):
            anchors.clear()
            self.segments.clear()
        elif last is not None and position == last.upstream:
            anchors.pop()
        anchors.append(Segment(position, position, end, 0))
        if len(anchors) > MAX_ANCHORS:
            del anchors[1 : MAX_ANCHORS // 2 : 2]

    def copied(self, position: int, end: int) -> None:
        """The target ended at `end` after the flow had been at `position` of the source.

        Whoever has read the target up to that end has read everything before that position, also
        where nothing was copied because it had come from the target.
        """
        ends = self._ends
        if ends and (end < ends[-1][0] or position < ends[-1][1]):
            ends.clear()
        elif ends and end == ends[-1][0]:
            ends.pop()
        ends.append((end, position))
        if len(ends) > MAX_ANCHORS:
            del ends[1 : MAX_ANCHORS // 2 : 2]

    def is_anchored(self, position: int) -> bool:
        """Whether another anchor at this position would say no more than the last one.

        It would if records were committed after the end was looked up: the flow has moved on since,
        or the end is not behind the last copied record and the marker of its transaction. Kafka may
        write that marker after the position can be read.
        """
        if not self._anchors or self._anchored_at != position:
            return False
        return not self.segments or self.segments[-1].downstream_end < self._anchors[-1].downstream

    def translate(self, upstream: int) -> int | None:
        """Where a group goes on that reads `upstream` next; None if that is not known."""
        found = [
            segments[at - 1].translate(upstream)
            for segments in (self.segments, self._anchors)
            if (at := bisect_right(segments, upstream, key=_since))
        ]
        return max(found, default=None)

    def invert(self, downstream: int) -> int | None:
        """The same from the target to the source, for a group that goes back."""
        found = [position for end, position in self._ends if end <= downstream][-1:]
        if at := bisect_right(self.segments, downstream, key=_downstream):
            found.append(self.segments[at - 1].invert(downstream))
        elif self.segments:
            found.append(self.segments[0].since)
        return max(found, default=None)

    def thinned(self, max_segments: int) -> list[Segment]:
        """The segments, merged until there are at most so many."""
        copy = Translation(self.segments, max_segments)
        while len(copy.segments) > max_segments:
            copy._merge_oldest()
        return copy.segments

    def _merge_oldest(self) -> None:
        """Merge pairs of the older half: those that lose least, compared with their age."""
        middle = max(2, len(self.segments) // 2) & ~1
        end = self.segments[-1].downstream_end
        pairs = [
            (merge(first, second), first, second)
            for first, second in zip(
                self.segments[:middle:2], self.segments[1:middle:2], strict=True
            )
        ]

        def loss(made: Segment) -> float:
            return made.slack / max(1, end - made.downstream)

        most = sorted(loss(made) for made, _, _ in pairs)[len(pairs) // 2]
        older: list[Segment] = []
        for made, first, second in pairs:
            older += [made] if loss(made) <= most else [first, second]
        self.segments[:middle] = older


def _since(segment: Segment) -> int:
    return segment.since


def _downstream(segment: Segment) -> int:
    return segment.downstream
