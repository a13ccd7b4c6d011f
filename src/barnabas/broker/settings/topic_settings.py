"""The settings of a topic, typed: its own, or the broker's defaults for them."""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.log import LogConfig
from barnabas.metadata.config_values import ConfigValue
from barnabas.metadata.topic_configs import TOPIC_CONFIGS
from barnabas.records.compression import Compression
from barnabas.records.recompress import CompressionTarget

_LEVELS = {
    Compression.GZIP: "compression.gzip.level",
    Compression.ZSTD: "compression.zstd.level",
}


@dataclass(frozen=True, slots=True)
class TopicSettings:
    log: LogConfig
    compression: CompressionTarget | None
    """The codec that batches are stored in; None: as they came."""
    max_message_bytes: int
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    min_insync_replicas: int
    file_delete_delay_ms: int

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.log.cleanup_policy


class TopicValues:
    """The values of a topic's settings by name."""

    def __init__(self, configs: Mapping[str, str], defaults: Mapping[str, ConfigValue]) -> None:
        self._configs = configs
        self._defaults = defaults

    def value(self, name: str) -> ConfigValue:
        config = TOPIC_CONFIGS[name]
        if name in self._configs:
            return config.parse(self._configs[name])
        if config.synonym is None:
            return config.parse(config.default)
        return self._defaults[config.synonym]

    def number(self, name: str) -> int:
        value = self.value(name)
        assert isinstance(value, int)
        return value

    def ratio(self, name: str) -> float:
        value = self.value(name)
        assert isinstance(value, float)
        return value


def read_topic_settings(
    configs: Mapping[str, str], defaults: Mapping[str, ConfigValue]
) -> TopicSettings:
    """What a topic obeys for which `configs` were set; `defaults` are the broker's values."""
    values = TopicValues(configs, defaults)
    number = values.number
    expiration_ms = defaults["producer.id.expiration.ms"]
    assert isinstance(expiration_ms, int)
    max_producers = defaults["producer.ids.max.per.partition"]
    assert isinstance(max_producers, int)
    return TopicSettings(
        log=LogConfig(
            segment_bytes=number("segment.bytes"),
            segment_ms=number("segment.ms"),
            index_interval_bytes=number("index.interval.bytes"),
            retention_ms=number("retention.ms"),
            retention_bytes=number("retention.bytes"),
            flush_messages=number("flush.messages"),
            flush_ms=number("flush.ms"),
            cleanup_policy=frozenset(str(values.value("cleanup.policy")).split(",")),
            message_timestamp_type=str(values.value("message.timestamp.type")),
            delete_retention_ms=number("delete.retention.ms"),
            min_compaction_lag_ms=number("min.compaction.lag.ms"),
            max_compaction_lag_ms=number("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio=values.ratio("min.cleanable.dirty.ratio"),
            producer_id_expiration_ms=expiration_ms,
            max_producers=max_producers,
            skip_lost_records=values.value("damaged.records.skip") is True,
        ),
        compression=_compression(values),
        max_message_bytes=number("max.message.bytes"),
        timestamp_before_max_ms=number("message.timestamp.before.max.ms"),
        timestamp_after_max_ms=number("message.timestamp.after.max.ms"),
        min_insync_replicas=number("min.insync.replicas"),
        file_delete_delay_ms=number("file.delete.delay.ms"),
    )


def _compression(values: TopicValues) -> CompressionTarget | None:
    name = str(values.value("compression.type"))
    if name == "producer":
        return None
    codec = Compression.NONE if name == "uncompressed" else Compression[name.upper()]
    if codec not in _LEVELS:
        return CompressionTarget(codec)
    level = values.number(_LEVELS[codec])
    is_default = codec is Compression.GZIP and level < 1
    return CompressionTarget(codec, None if is_default else level)
