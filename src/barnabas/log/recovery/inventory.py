"""The files of a partition's directory compared with what `log.state` says of them."""

from collections.abc import Collection, Iterator

from barnabas.log.segment.file_names import LOG_SUFFIX, offset_in
from barnabas.log.segment.segment import MAX_OFFSETS
from barnabas.log.state import LogState, SegmentState


class Inventory:
    """Segment files by base offset, and which of them are trusted.

    A segment is trusted if the state lists it with exactly the size that its file has.
    """

    def __init__(
        self,
        listing: dict[str, int],
        state: LogState | None,
        gaps_upto_offset: int,
        begun: Collection[int] = (),
    ) -> None:
        """Compaction may have left gaps that begin before `gaps_upto_offset`, except where segments
        have `begun` that it has certainly not replaced."""
        numbers = ((offset_in(name, LOG_SUFFIX), size) for name, size in listing.items())
        self.sizes = {number: size for number, size in numbers if number is not None}
        self.base_offsets = sorted(self.sizes)
        self.listed = state.segments if state else {}
        self.last_trusted = max(filter(self.is_trusted, self.base_offsets), default=-1)
        self._untrusted = state.untrusted if state else frozenset()
        self._gaps_upto_offset = gaps_upto_offset
        self._begun = begun

    def is_trusted(self, base_offset: int) -> bool:
        listed = self.listed.get(base_offset)
        return listed is not None and listed.size == self.sizes[base_offset]

    def missing(self, start: int) -> Iterator[SegmentState]:
        """The segments that the state lists and that have no file, in a log that starts there."""
        for base_offset, listed in self.listed.items():
            if base_offset >= start and listed.size > 0 and base_offset not in self.base_offsets:
                yield listed

    def ends_of_shrunk(self) -> Iterator[int]:
        """Where segments ended whose files are shorter than listed."""
        for base_offset, size in self.sizes.items():
            listed = self.listed.get(base_offset)
            if listed is not None and size < listed.size:
                yield listed.next_offset

    def explains_gap(self, previous: int, end: int, base_offset: int) -> bool:
        """Whether nothing is lost between a segment that ends at `end` and the next one.

        `previous` and `base_offset` are their base offsets.
        """
        # A follower begins a segment behind a gap only if that is wider than any segment.
        if not 0 < base_offset - end <= MAX_OFFSETS:
            return True
        if end < self._gaps_upto_offset and end not in self._begun:
            return True
        listed = self.listed.get(previous)
        if listed is None:
            return False
        if any(end <= each < base_offset for each in self._untrusted):
            return False  # a segment was there that is not listed
        if listed.size < 0:
            return True  # a compaction was about to replace it
        # The gap was there when the state was written; a loss since then shows elsewhere.
        return self.is_trusted(previous) and base_offset in self.listed
