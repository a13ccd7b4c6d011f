"""Translation of offsets of all partitions of a flow, by their names on both sides."""

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.offsets.segment import Segment
from barnabas.mirror.offsets.translation import Translation
from barnabas.mirror.syncs import OffsetSync

Place = tuple[TopicPartition, int]
"""A partition, and the offset that is read next there."""


class Translations:
    """From places in the source to places in the target, and back. Not for several threads."""

    def __init__(self) -> None:
        self._by_source: dict[TopicPartition, Translation] = {}
        self._targets: dict[TopicPartition, TopicPartition] = {}
        self._sources: dict[TopicPartition, TopicPartition] = {}
        self._changed: set[TopicPartition] = set()

    def add(self, syncs: Iterable[OffsetSync]) -> None:
        """What was copied, in the order of writing for each partition."""
        for each in syncs:
            self._of(each.source, each.target).add(each.upstream, each.downstream, each.records)
            self._changed.add(each.source)

    def anchor(
        self, source: TopicPartition, target: TopicPartition, position: int, end: int, before: int
    ) -> None:
        """The flow was at `position` after the target had ended at `end`, and at `before` first."""
        self._of(source, target).anchor(position, end, before)

    def copied(
        self, source: TopicPartition, target: TopicPartition, position: int, end: int
    ) -> None:
        """The target ended at `end` after the flow had been at `position`."""
        self._of(source, target).copied(position, end)

    def is_anchored(self, target: TopicPartition, position: int) -> bool:
        """Whether another anchor at this position would say no more than the last one."""
        source = self._sources.get(target)
        return source is not None and self._by_source[source].is_anchored(position)

    def restore(
        self, source: TopicPartition, target: TopicPartition, segments: Sequence[Segment]
    ) -> None:
        """What an earlier driver has stored."""
        known = self._of(source, target)
        later = list(known.segments)
        known.segments[:] = segments
        known.extend(later)

    def extend(
        self, source: TopicPartition, target: TopicPartition, segments: Sequence[Segment]
    ) -> None:
        """What the target says of records that were copied before, and not stored."""
        self._of(source, target).extend(segments)
        if segments:
            self._changed.add(source)

    def keep(self, sources: Container[TopicPartition]) -> None:
        """Forget all other partitions: another process copies them."""
        for source in [each for each in self._by_source if each not in sources]:
            del self._by_source[source]
            del self._sources[self._targets.pop(source)]
            self._changed.discard(source)

    def translate(self, source: TopicPartition, offset: int) -> Place | None:
        """Where a group goes on in the target; None if nothing is known."""
        known = self._by_source.get(source)
        translated = None if known is None else known.translate(offset)
        return None if translated is None else (self._targets[source], translated)

    def invert(self, target: TopicPartition, offset: int) -> Place | None:
        """Where a group goes on in the source that has read the target up to `offset`."""
        source = self._sources.get(target)
        back = None if source is None else self._by_source[source].invert(offset)
        return None if source is None or back is None else (source, back)

    @contextmanager
    def changes(self) -> Iterator[list[tuple[TopicPartition, Translation]]]:
        """The partitions with syncs since the last time.

        Unless the block ends well, which stores them, they are among the changes of the next time.
        """
        changed, self._changed = self._changed, set()
        is_stored = False
        try:
            yield [(source, self._by_source[source]) for source in sorted(changed)]
            is_stored = True
        finally:
            if not is_stored:
                self._changed |= changed

    def _of(self, source: TopicPartition, target: TopicPartition) -> Translation:
        if self._targets.get(source) != target:
            self._by_source[source] = Translation()
            self._targets[source] = target
            self._sources[target] = source
        return self._by_source[source]
