"""The settings of a share group: its own, over those of the broker."""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.broker.coordinator.share_group_settings import bounded_value, group_value
from barnabas.broker.settings.component_settings import ShareSettings
from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.image import MetadataImage
from barnabas.share.share_limits import ShareLimits

_READ_COMMITTED = "read_committed"
_MAX_KNOWN = 10_000


@dataclass(frozen=True, slots=True)
class ShareGroupSettings:
    limits: ShareLimits
    is_read_committed: bool
    auto_offset_reset: str
    """`earliest`, `latest`, or `by_duration:` and an ISO 8601 duration."""


class ShareSettingsReader:
    """Reads settings of groups. They are asked for often, and kept while nothing changes."""

    def __init__(self, config: BrokerConfig, image: MetadataImage) -> None:
        self._config = config
        self._image = image
        self._known: dict[str, tuple[dict[str, str], ShareSettings, ShareGroupSettings]] = {}

    def of(self, group_id: str) -> ShareGroupSettings:
        own = self._image.group_configs(group_id)
        shares = self._config.shares
        known = self._known.get(group_id)
        if known is not None and known[1] is shares and known[0] == own:
            return known[2]
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        settings = self._read(own, shares)
        self._known[group_id] = (dict(own), shares, settings)
        return settings

    def _read(self, own: Mapping[str, str], shares: ShareSettings) -> ShareGroupSettings:
        return ShareGroupSettings(
            ShareLimits(
                record_lock_duration_ms=bounded_value(
                    own,
                    "share.record.lock.duration.ms",
                    shares.record_lock_duration_ms,
                    shares.min_record_lock_duration_ms,
                    shares.max_record_lock_duration_ms,
                ),
                delivery_count_limit=bounded_value(
                    own,
                    "share.delivery.count.limit",
                    shares.delivery_count_limit,
                    shares.min_delivery_count_limit,
                    shares.max_delivery_count_limit,
                ),
                max_record_locks=bounded_value(
                    own,
                    "share.partition.max.record.locks",
                    shares.max_record_locks,
                    shares.min_max_record_locks,
                    shares.max_max_record_locks,
                ),
                renew_enabled=group_value(own, "share.renew.acknowledge.enable") is True,
            ),
            group_value(own, "share.isolation.level") == _READ_COMMITTED,
            str(group_value(own, "share.auto.offset.reset")),
        )
