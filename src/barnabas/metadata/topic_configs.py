"""Every setting a topic has. Its default comes from the broker's setting of `synonym`, if there is
one."""

from collections.abc import Mapping

from barnabas.metadata.config_values import ConfigDef, ConfigType
from barnabas.metadata.image import INTERNAL_TOPICS
from barnabas.metadata.topic_configs_without_effect import TOPIC_CONFIGS_WITHOUT_EFFECT

LONG_MAX = 2**63 - 1

_FLUSHES = ("flush.messages", "flush.ms")
_INTERNAL_DEFAULTS = {"flush.messages": "1"}


def own_defaults(topic: str, configs: Mapping[str, str]) -> Mapping[str, str]:
    """Defaults that hold for this topic, whatever the brokers' are.

    Committed offsets and the states of transactions and share groups are acknowledged when they
    are on the disk, or a power failure would lose them. Explicit flush settings take precedence.
    """
    is_internal = topic in INTERNAL_TOPICS and not any(name in configs for name in _FLUSHES)
    return _INTERNAL_DEFAULTS if is_internal else {}


_WITH_EFFECT = (
    ConfigDef(
        "cleanup.policy",
        ConfigType.LIST,
        "delete",
        "Cleanup of old segments: delete removes them by age and size, compact keeps the last "
        "record of every key; both may be given, and without either everything is kept",
        choices=("delete", "compact", ""),
        synonym="log.cleanup.policy",
    ),
    ConfigDef(
        "compression.gzip.level",
        ConfigType.INT,
        "-1",
        "Compression level of compression.type=gzip, 1 to 9; -1 means 6",
        low=-1,
        high=9,
        synonym="compression.gzip.level",
    ),
    ConfigDef(
        "compression.zstd.level",
        ConfigType.INT,
        "3",
        "Compression level of compression.type=zstd",
        low=-131072,
        high=22,
        synonym="compression.zstd.level",
    ),
    ConfigDef(
        "compression.type",
        ConfigType.STRING,
        "producer",
        "Compression of stored batches: producer keeps them as sent, any other value recompresses "
        "batches that use another codec",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        synonym="compression.type",
    ),
    ConfigDef(
        "damaged.records.skip",
        ConfigType.BOOLEAN,
        "false",
        "Whether consumers skip records that were lost to disk damage, instead of getting "
        "CORRUPT_MESSAGE",
        synonym="log.damaged.records.skip",
    ),
    ConfigDef(
        "delete.retention.ms",
        ConfigType.LONG,
        "86400000",
        "Retention of tombstones in a compacted topic",
        low=0,
        synonym="log.cleaner.delete.retention.ms",
    ),
    ConfigDef(
        "file.delete.delay.ms",
        ConfigType.LONG,
        "60000",
        "Delay before the file of a deleted segment is removed from disk",
        low=0,
        synonym="log.segment.delete.delay.ms",
    ),
    ConfigDef(
        "flush.messages",
        ConfigType.LONG,
        str(LONG_MAX),
        "Number of messages after which the log is flushed to disk; consumers see only flushed "
        "messages, and acks=all is answered after the flush, acks=1 before it, as in Kafka",
        low=1,
        synonym="log.flush.interval.messages",
    ),
    ConfigDef(
        "flush.ms",
        ConfigType.LONG,
        str(LONG_MAX),
        "Time after which the log is flushed to disk; consumers see only flushed messages, and "
        "acks=all is answered after the flush, acks=1 before it, as in Kafka",
        low=0,
        synonym="log.flush.interval.ms",
        default_has_synonym=False,
    ),
    ConfigDef(
        "index.interval.bytes",
        ConfigType.INT,
        "4096",
        "Bytes of the log between two index entries",
        low=0,
        synonym="log.index.interval.bytes",
    ),
    ConfigDef(
        "max.compaction.lag.ms",
        ConfigType.LONG,
        str(LONG_MAX),
        "Maximum time that a record stays uncompacted",
        low=1,
        synonym="log.cleaner.max.compaction.lag.ms",
    ),
    ConfigDef(
        "max.message.bytes",
        ConfigType.INT,
        "1048588",
        "Maximum size of a record batch, after compression",
        low=0,
        synonym="message.max.bytes",
    ),
    ConfigDef(
        "message.timestamp.after.max.ms",
        ConfigType.LONG,
        "3600000",
        "Maximum time that a record's timestamp may be ahead of the broker's clock",
        low=0,
        synonym="log.message.timestamp.after.max.ms",
    ),
    ConfigDef(
        "message.timestamp.before.max.ms",
        ConfigType.LONG,
        str(LONG_MAX),
        "Maximum time that a record's timestamp may be behind the broker's clock",
        low=0,
        synonym="log.message.timestamp.before.max.ms",
    ),
    ConfigDef(
        "message.timestamp.type",
        ConfigType.STRING,
        "CreateTime",
        "Timestamp of records: the producer's (CreateTime) or the broker's (LogAppendTime)",
        choices=("CreateTime", "LogAppendTime"),
        synonym="log.message.timestamp.type",
    ),
    ConfigDef(
        "min.cleanable.dirty.ratio",
        ConfigType.DOUBLE,
        "0.5",
        "Share of a log that must be uncompacted before it is compacted again",
        low=0,
        high=1,
        synonym="log.cleaner.min.cleanable.ratio",
    ),
    ConfigDef(
        "min.compaction.lag.ms",
        ConfigType.LONG,
        "0",
        "Minimum time before a record may be compacted",
        low=0,
        synonym="log.cleaner.min.compaction.lag.ms",
    ),
    ConfigDef(
        "min.insync.replicas",
        ConfigType.INT,
        "1",
        "Minimum number of in-sync replicas for writes with acks=all",
        low=1,
        synonym="min.insync.replicas",
    ),
    ConfigDef(
        "retention.bytes",
        ConfigType.LONG,
        "-1",
        "Maximum size of a partition; above it, the oldest segments are deleted; -1 means no limit",
        low=-1,
        synonym="log.retention.bytes",
    ),
    ConfigDef(
        "retention.ms",
        ConfigType.LONG,
        "604800000",
        "Retention time of records, read or not; -1 means forever",
        low=-1,
        synonym="log.retention.ms",
        default_has_synonym=False,
    ),
    ConfigDef(
        "segment.bytes",
        ConfigType.INT,
        "1073741824",
        "Maximum size of a segment file",
        low=1024,
        synonym="log.segment.bytes",
    ),
    ConfigDef(
        "segment.ms",
        ConfigType.LONG,
        "604800000",
        "Maximum age of the active segment before a new one is started",
        low=1,
        synonym="log.roll.ms",
        default_has_synonym=False,
    ),
    *(
        ConfigDef(
            f"{role}.replication.throttled.replicas",
            ConfigType.LIST,
            "",
            f"{which}, PARTITION:NODE,... or *",
            default_has_synonym=False,
            items=r"\*|[0-9]+:[0-9]+",
        )
        for role, which in (
            ("leader", "Replicas from which leader.replication.throttled.rate limits reading"),
            ("follower", "Replicas to which follower.replication.throttled.rate limits copying"),
        )
    ),
    ConfigDef(
        "unclean.leader.election.enable",
        ConfigType.BOOLEAN,
        "false",
        "Whether a replica outside the in-sync set may become leader if none inside is left; this "
        "loses acknowledged records",
        synonym="unclean.leader.election.enable",
    ),
)

TOPIC_CONFIGS: dict[str, ConfigDef] = {
    config.name: config
    for config in sorted(
        (*_WITH_EFFECT, *TOPIC_CONFIGS_WITHOUT_EFFECT), key=lambda config: config.name
    )
}
