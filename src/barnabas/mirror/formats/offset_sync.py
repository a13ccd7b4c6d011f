"""Records of `mm2-offset-syncs.A.internal`: an offset of the source and the same one here.

    key    topic string, partition int32: those of the source
    value  upstream offset int64, downstream offset int64

Mirror Maker 2 compacts the topic, so that only the last sync of a partition is sure to be there.
"""

from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.formats.record_fields import RecordFields
from barnabas.wire.primitives import INT32, INT64, Writer


class OffsetSyncRecord(NamedTuple):
    """The record at `upstream_offset` of the source was written at `downstream_offset`."""

    partition: TopicPartition
    upstream_offset: int
    downstream_offset: int

    @property
    def key(self) -> bytes:
        writer = Writer()
        writer.string(self.partition.topic)
        writer.buffer += INT32.pack(self.partition.partition)
        return writer.getvalue()

    @property
    def value(self) -> bytes:
        return INT64.pack(self.upstream_offset) + INT64.pack(self.downstream_offset)


def decode_offset_sync(key: bytes | None, value: bytes | None) -> OffsetSyncRecord:
    """Raises `CorruptRecord`."""
    with RecordFields("key of an offset sync", key) as fields:
        partition = TopicPartition(fields.string(), fields.int32())
    with RecordFields("offset sync", value) as fields:
        return OffsetSyncRecord(partition, fields.int64(), fields.int64())
