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

    Committed offsets and the states of transactions are acknowledged when they are on the disk, or
    a loss of power would take them away; unless somebody has set when they are flushed.
    """
    is_internal = topic in INTERNAL_TOPICS and not any(name in configs for name in _FLUSHES)
    return _INTERNAL_DEFAULTS if is_internal else {}


_WITH_EFFECT = (
    ConfigDef(
        "cleanup.policy",
        ConfigType.LIST,
        "delete",
        "delete drops old segments by age and size, compact keeps the last record of every "
        "key; both may be given",
        choices=("delete", "compact"),
        synonym="log.cleanup.policy",
    ),
    ConfigDef(
        "compression.gzip.level",
        ConfigType.INT,
        "-1",
        "Level of compression.type=gzip, 1 to 9; -1: 6",
        low=-1,
        high=9,
        synonym="compression.gzip.level",
    ),
    ConfigDef(
        "compression.zstd.level",
        ConfigType.INT,
        "3",
        "Level of compression.type=zstd",
        low=-131072,
        high=22,
        synonym="compression.zstd.level",
    ),
    ConfigDef(
        "compression.type",
        ConfigType.STRING,
        "producer",
        "How batches are stored: producer keeps them as they came, any other compresses again "
        "those that came in another way",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        synonym="compression.type",
    ),
    ConfigDef(
        "damaged.records.skip",
        ConfigType.BOOLEAN,
        "false",
        "Let consumers pass over records that damage to the disk has taken away, instead of "
        "failing with CORRUPT_MESSAGE",
        synonym="log.damaged.records.skip",
    ),
    ConfigDef(
        "delete.retention.ms",
        ConfigType.LONG,
        "86400000",
        "How long a compacted topic keeps the mark of a deleted key",
        low=0,
        synonym="log.cleaner.delete.retention.ms",
    ),
    ConfigDef(
        "file.delete.delay.ms",
        ConfigType.LONG,
        "60000",
        "How long a dropped segment stays on disk before it is removed",
        low=0,
        synonym="log.segment.delete.delay.ms",
    ),
    ConfigDef(
        "flush.messages",
        ConfigType.LONG,
        str(LONG_MAX),
        "Flush to disk after so many messages; a message is exposed only once it is flushed",
        low=1,
        synonym="log.flush.interval.messages",
    ),
    ConfigDef(
        "flush.ms",
        ConfigType.LONG,
        str(LONG_MAX),
        "Flush to disk after so long; a message is exposed only once it is flushed",
        low=0,
        synonym="log.flush.interval.ms",
        default_has_synonym=False,
    ),
    ConfigDef(
        "index.interval.bytes",
        ConfigType.INT,
        "4096",
        "How many bytes of the log lie between two entries of its index",
        low=0,
        synonym="log.index.interval.bytes",
    ),
    ConfigDef(
        "max.compaction.lag.ms",
        ConfigType.LONG,
        str(LONG_MAX),
        "The longest that a record which is to be compacted away may wait for it",
        low=1,
        synonym="log.cleaner.max.compaction.lag.ms",
    ),
    ConfigDef(
        "max.message.bytes",
        ConfigType.INT,
        "1048588",
        "The largest record batch that is taken, compressed",
        low=0,
        synonym="message.max.bytes",
    ),
    ConfigDef(
        "message.timestamp.after.max.ms",
        ConfigType.LONG,
        "3600000",
        "How far a record's timestamp may lie ahead of the broker's clock",
        low=0,
        synonym="log.message.timestamp.after.max.ms",
    ),
    ConfigDef(
        "message.timestamp.before.max.ms",
        ConfigType.LONG,
        str(LONG_MAX),
        "How far a record's timestamp may lie behind the broker's clock",
        low=0,
        synonym="log.message.timestamp.before.max.ms",
    ),
    ConfigDef(
        "message.timestamp.type",
        ConfigType.STRING,
        "CreateTime",
        "Whether records carry the producer's time or the broker's",
        choices=("CreateTime", "LogAppendTime"),
        synonym="log.message.timestamp.type",
    ),
    ConfigDef(
        "min.cleanable.dirty.ratio",
        ConfigType.DOUBLE,
        "0.5",
        "How much of a log has to be written since it was last compacted before it is again",
        low=0,
        high=1,
        synonym="log.cleaner.min.cleanable.ratio",
    ),
    ConfigDef(
        "min.compaction.lag.ms",
        ConfigType.LONG,
        "0",
        "How long a record stays as it is before it may be compacted away",
        low=0,
        synonym="log.cleaner.min.compaction.lag.ms",
    ),
    ConfigDef(
        "min.insync.replicas",
        ConfigType.INT,
        "1",
        "How many in-sync replicas a write with acks=all needs",
        low=1,
        synonym="min.insync.replicas",
    ),
    ConfigDef(
        "retention.bytes",
        ConfigType.LONG,
        "-1",
        "How large a partition may grow before its oldest segments go; -1: no limit",
        low=-1,
        synonym="log.retention.bytes",
    ),
    ConfigDef(
        "retention.ms",
        ConfigType.LONG,
        "604800000",
        "How long records are kept, read or not; -1: for ever",
        low=-1,
        synonym="log.retention.ms",
        default_has_synonym=False,
    ),
    ConfigDef(
        "segment.bytes",
        ConfigType.INT,
        "1073741824",
        "The size at which a new segment file is begun",
        low=1024,
        synonym="log.segment.bytes",
    ),
    ConfigDef(
        "segment.ms",
        ConfigType.LONG,
        "604800000",
        "The age at which a new segment file is begun",
        low=1,
        synonym="log.roll.ms",
        default_has_synonym=False,
    ),
    ConfigDef(
        "unclean.leader.election.enable",
        ConfigType.BOOLEAN,
        "false",
        "Whether a replica outside the in-sync set may lead when none inside is left, which "
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
