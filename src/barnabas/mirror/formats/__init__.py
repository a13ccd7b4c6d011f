"""Records of Mirror Maker 2, byte for byte, so that its client library and dashboards read them.

    internal_topics   names and settings of the topics
    record_fields     how keys and values are read
    offset_sync       OffsetSyncRecord:  `mm2-offset-syncs.A.internal`
    checkpoint        CheckpointRecord:  `A.checkpoints.internal`
    heartbeat         HeartbeatRecord:   `heartbeats`

All are pure. Fields are those of Kafka's protocol: strings with an int16 length, big-endian
integers. Checkpoints and heartbeats begin their value with an int16 version, which is 0;
offset syncs have no version.
"""
