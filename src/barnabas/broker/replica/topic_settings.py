"""The settings of a topic that its replicas obey."""

from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import LogConfig
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.topic_configs import own_defaults


def topic_settings(
    config: BrokerConfig, image: MetadataImage, topic: str
) -> tuple[LogConfig, AppendLimits]:
    """The log settings and append limits of a topic."""
    configs = image.topic_configs(topic)
    configs = {**own_defaults(topic, configs), **configs}
    settings = config.topic(configs)
    compression = settings.compression
    limits = AppendLimits(
        settings.max_message_bytes,
        config.replicas.max_decompressed_batch_bytes,
        settings.timestamp_before_max_ms,
        settings.timestamp_after_max_ms,
        settings.is_compacted,
        settings.min_insync_replicas,
        compression,
        in_place=compression is None and not settings.log.is_log_append_time,
    )
    return settings.log, limits
