"""Records of `A.checkpoints.internal`: how far a group of the source is, in offsets of both.

    key    group string, topic string, partition int32: the topic by its name in the target
    value  version int16, upstream offset int64, downstream offset int64, metadata string

`RemoteClusterUtils.translateOffsets` reads them.
"""

from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.mirror.formats.record_fields import VERSION, RecordFields
from barnabas.wire.primitives import INT16, INT32, INT64, Writer


class CheckpointRecord(NamedTuple):
    """The committed offset of a group in the source, and where it goes on in the target."""

    group: str
    partition: TopicPartition
    upstream_offset: int
    downstream_offset: int
    metadata: str = ""

    @property
    def key(self) -> bytes:
        writer = Writer()
        writer.string(self.group)
        writer.string(self.partition.topic)
        writer.buffer += INT32.pack(self.partition.partition)
        return writer.getvalue()

    @property
    def value(self) -> bytes:
        writer = Writer()
        writer.buffer += INT16.pack(VERSION)
        writer.buffer += INT64.pack(self.upstream_offset)
        writer.buffer += INT64.pack(self.downstream_offset)
        writer.string(self.metadata)
        return writer.getvalue()


def decode_checkpoint(key: bytes | None, value: bytes | None) -> CheckpointRecord:
    """Raises `CorruptRecord`."""
    with RecordFields("key of a checkpoint", key) as fields:
        group = fields.string()
        partition = TopicPartition(fields.string(), fields.int32())
    with RecordFields("checkpoint", value) as fields:
        fields.version()
        return CheckpointRecord(group, partition, fields.int64(), fields.int64(), fields.string())
