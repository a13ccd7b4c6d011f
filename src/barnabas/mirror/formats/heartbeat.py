"""Records of `heartbeats`: a flow is alive.

    key    source cluster string, target cluster string
    value  version int16, timestamp int64

`RemoteClusterUtils.replicationHops` and `upstreamClusters` look at where the topic was copied to.
"""

from typing import NamedTuple

from barnabas.mirror.formats.record_fields import VERSION, RecordFields
from barnabas.wire.primitives import INT16, INT64, Writer


class HeartbeatRecord(NamedTuple):
    """A flow from `source` to `target` was alive at `timestamp_ms`."""

    source: str
    target: str
    timestamp_ms: int

    @property
    def key(self) -> bytes:
        writer = Writer()
        writer.string(self.source)
        writer.string(self.target)
        return writer.getvalue()

    @property
    def value(self) -> bytes:
        return INT16.pack(VERSION) + INT64.pack(self.timestamp_ms)


def decode_heartbeat(key: bytes | None, value: bytes | None) -> HeartbeatRecord:
    """Raises `CorruptRecord`."""
    with RecordFields("key of a heartbeat", key) as fields:
        source, target = fields.string(), fields.string()
    with RecordFields("heartbeat", value) as fields:
        fields.version()
        return HeartbeatRecord(source, target, fields.int64())
