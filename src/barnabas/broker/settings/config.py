"""A broker's settings: parsed once, read by name, some of them changeable while it runs."""

from collections.abc import Mapping

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.broker.settings.without_effect import why_without_effect
from barnabas.controller.configs import BrokerSettings
from barnabas.log import LogConfig
from barnabas.metadata.config_values import ConfigValue, InvalidConfigError, did_you_mean
from barnabas.metadata.topic_configs import TOPIC_CONFIGS
from barnabas.records.compression import Compression
from barnabas.records.recompress import CompressionTarget

_LEVELS = {
    Compression.GZIP: "compression.gzip.level",
    Compression.ZSTD: "compression.zstd.level",
}


class ConfigError(ValueError):
    """Settings a broker can't start with; the message names the fix."""


class BrokerConfig:
    """What the config file, the environment and the command line say, over the defaults."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.without_effect: dict[str, str] = {}
        """What was set although it has no effect here, and why not."""
        for name, text in properties.items():
            why = why_without_effect(name)
            if why is not None:
                self.without_effect[name] = why
                continue
            if name not in BROKER_CONFIGS:
                hint = did_you_mean(name, BROKER_CONFIGS)
                raise ConfigError(f"there is no setting {name!r}{hint}")
            try:
                BROKER_CONFIGS[name].parse(text)
            except InvalidConfigError as error:
                raise ConfigError(str(error)) from None
            why = BROKER_CONFIGS[name].without_effect
            if why is not None:
                self.without_effect[name] = why
        self.static = {name: properties[name] for name in properties if name in BROKER_CONFIGS}
        self._values: dict[str, ConfigValue] = {}
        self.set_dynamic({})
        self.settings = BrokerSettings(self.number("node.id"), BROKER_CONFIGS, self.static)

    def set_dynamic(self, changed: Mapping[str, str]) -> None:
        """Take over what was changed while running; everything else is as at the start."""
        for name, config in BROKER_CONFIGS.items():
            self._values[name] = config.parse(
                changed.get(name, self.static.get(name, config.default))
            )

    def number(self, name: str) -> int:
        value = self._values[name]
        assert isinstance(value, int)
        return value

    def flag(self, name: str) -> bool:
        return self._values[name] is True

    def text(self, name: str) -> str | None:
        value = self._values[name]
        return None if value is None else str(value)

    def topic_value(self, configs: Mapping[str, str], name: str) -> ConfigValue:
        """One setting of a topic: its own, or the broker's default for it."""
        config = TOPIC_CONFIGS[name]
        if name in configs:
            return config.parse(configs[name])
        assert config.synonym is not None
        return self._values[config.synonym]

    def topic_number(self, configs: Mapping[str, str], name: str) -> int:
        value = self.topic_value(configs, name)
        assert isinstance(value, int)
        return value

    def _topic_ratio(self, configs: Mapping[str, str], name: str) -> float:
        value = self.topic_value(configs, name)
        assert isinstance(value, float)
        return value

    def compression(self, configs: Mapping[str, str]) -> CompressionTarget | None:
        """How a topic with these settings stores batches; None: as they came."""
        name = str(self.topic_value(configs, "compression.type"))
        if name == "producer":
            return None
        codec = Compression.NONE if name == "uncompressed" else Compression[name.upper()]
        if codec not in _LEVELS:
            return CompressionTarget(codec)
        level = self.topic_number(configs, _LEVELS[codec])
        is_default = codec is Compression.GZIP and level < 1
        return CompressionTarget(codec, None if is_default else level)

    def log_config(self, configs: Mapping[str, str]) -> LogConfig:
        """What the log of a topic with these settings has to know."""
        return LogConfig(
            segment_bytes=self.topic_number(configs, "segment.bytes"),
            segment_ms=self.topic_number(configs, "segment.ms"),
            index_interval_bytes=self.topic_number(configs, "index.interval.bytes"),
            retention_ms=self.topic_number(configs, "retention.ms"),
            retention_bytes=self.topic_number(configs, "retention.bytes"),
            flush_messages=self.topic_number(configs, "flush.messages"),
            flush_ms=self.topic_number(configs, "flush.ms"),
            cleanup_policy=frozenset(str(self.topic_value(configs, "cleanup.policy")).split(",")),
            message_timestamp_type=str(self.topic_value(configs, "message.timestamp.type")),
            delete_retention_ms=self.topic_number(configs, "delete.retention.ms"),
            min_compaction_lag_ms=self.topic_number(configs, "min.compaction.lag.ms"),
            max_compaction_lag_ms=self.topic_number(configs, "max.compaction.lag.ms"),
            min_cleanable_dirty_ratio=self._topic_ratio(configs, "min.cleanable.dirty.ratio"),
            producer_id_expiration_ms=self.number("producer.id.expiration.ms"),
            skip_lost_records=self.topic_value(configs, "damaged.records.skip") is True,
        )
