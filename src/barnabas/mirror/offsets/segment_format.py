"""Segments as bytes: zigzag varints, each as the difference from where the last one has ended.

segment  since, upstream, downstream, length, slack
"""

from collections.abc import Iterable

from barnabas.coordination.record_format import CorruptRecord
from barnabas.mirror.offsets.segment import Segment
from barnabas.records.errors import CorruptBatch
from barnabas.records.varint import decode_varint, encode_varint

_FIELDS = 5


def encode_segments(segments: Iterable[Segment]) -> bytes:
    """A few bytes for each."""
    written = bytearray()
    upstream = downstream = 0
    for each in segments:
        for number in (
            each.since - upstream,
            each.upstream - each.since,
            each.downstream - downstream,
            each.length,
            each.slack,
        ):
            written += encode_varint(number)
        upstream, downstream = each.upstream_end, each.downstream_end
    return bytes(written)


def decode_segments(data: bytes) -> list[Segment]:
    """Raises `CorruptRecord`."""
    segments = []
    upstream = downstream = at = 0
    try:
        while at < len(data):
            numbers = []
            for _ in range(_FIELDS):
                number, at = decode_varint(data, at)
                numbers.append(number)
            since = upstream + numbers[0]
            made = Segment(
                since, since + numbers[1], downstream + numbers[2], numbers[3], numbers[4]
            )
            upstream, downstream = made.upstream_end, made.downstream_end
            segments.append(made)
    except (IndexError, CorruptBatch) as error:
        raise CorruptRecord(f"malformed segments of an offset sync: {error}") from error
    return segments
