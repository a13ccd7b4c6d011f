"""Offset syncs in the target: for Mirror Maker's tools, and for the driver that comes next.

A record is one of Mirror Maker 2 with the last copied record of a partition. Two headers, which it
ignores, say more:

    barnabas.segments     what is known of all offsets (`offsets/segment_format.py`), thinned
    barnabas.source.end   where the source ended then, in decimal digits

Compaction keeps the last record of each partition, so nothing but thinning is ever lost.
"""

from collections.abc import Container, Iterable
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.coordination.record_format import CorruptRecord
from barnabas.mirror.flow import Flow
from barnabas.mirror.formats.offset_sync import OffsetSyncRecord, decode_offset_sync
from barnabas.mirror.groups.topic_records import TopicRecord
from barnabas.mirror.names import remote_topic
from barnabas.mirror.offsets.segment import Segment
from barnabas.mirror.offsets.segment_format import decode_segments, encode_segments
from barnabas.mirror.offsets.translation import Translation
from barnabas.mirror.offsets.translations import Translations
from barnabas.records.record import Header

SEGMENTS = "barnabas.segments"
SOURCE_END = "barnabas.source.end"
STORED_SEGMENTS = 64


class StoredSync(NamedTuple):
    """What the target knows of a partition of the source."""

    partition: TopicPartition
    segments: list[Segment]
    source_end: int | None


def sync_of(
    partition: TopicPartition, translation: Translation, source_end: int | None
) -> tuple[OffsetSyncRecord, list[Header]]:
    """What to store of a partition, of which something was copied."""
    last = translation.segments[-1]
    record = OffsetSyncRecord(partition, last.upstream_end - 1, last.downstream_end - 1)
    headers: list[Header] = [(SEGMENTS, encode_segments(translation.thinned(STORED_SEGMENTS)))]
    if source_end is not None:
        headers.append((SOURCE_END, b"%d" % source_end))
    return record, headers


def stored_sync(record: TopicRecord) -> StoredSync | None:
    """What was stored; None for what Mirror Maker 2 itself wrote. Raises `CorruptRecord`."""
    segments = record.headers.get(SEGMENTS)
    if segments is None:
        return None
    end = record.headers.get(SOURCE_END)
    if end is not None and not end.isdigit():
        raise CorruptRecord(f"header {SOURCE_END} is {end!r}, not a number")
    return StoredSync(
        decode_offset_sync(record.key, record.value).partition,
        decode_segments(segments),
        None if end is None else int(end),
    )


def restore(
    flow: Flow,
    records: Iterable[TopicRecord],
    translations: Translations,
    partitions: Container[TopicPartition] | None = None,
) -> None:
    """Take over what is stored of a flow, or of these partitions of its source."""
    for record in records:
        stored = stored_sync(record)
        if stored is not None and (partitions is None or stored.partition in partitions):
            source = stored.partition
            target = TopicPartition(remote_topic(flow, source.topic), source.partition)
            translations.restore(source, target, stored.segments)
