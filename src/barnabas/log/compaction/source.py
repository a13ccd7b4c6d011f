"""A finished segment as a value, for a compaction job."""

from typing import NamedTuple

from barnabas.log.segment.segment import Segment


class Source(NamedTuple):
    base_offset: int
    next_offset: int
    size: int
    path: str

    @classmethod
    def of(cls, segment: Segment) -> "Source":
        return cls(segment.base_offset, segment.next_offset, segment.size, segment.log.path)
