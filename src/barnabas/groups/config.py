"""Settings of the group coordinator, named after Kafka's, all times in milliseconds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

_DAY_MS = 24 * 60 * 60 * 1000


class MigrationPolicy(StrEnum):
    """Which groups may change their protocol while they have members."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def allows_upgrade(self) -> bool:
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def allows_downgrade(self) -> bool:
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


def _no_lead_ms() -> int:
    return 0


@dataclass(frozen=True, slots=True)
class ModernGroupSettings:
    """What can be set for each group of a newer protocol."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    """Shortest time between two target assignments."""


@dataclass(frozen=True, slots=True)
class ConsumerGroupConfig:
    """Settings of consumer groups, as `group.consumer.*`."""

    assignors: tuple[str, ...] = ("uniform", "range")
    """Those that clients may ask for; the first one is the default."""
    max_size: int = 2**31 - 1
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    regex_refresh_interval_ms: int = 600_000
    settings: ModernGroupSettings = ModernGroupSettings()
    settings_of: Callable[[str], ModernGroupSettings] | None = None
    """The settings of a group by its id, if groups may have their own."""


@dataclass(frozen=True, slots=True)
class ShareGroupConfig:
    """Settings of share groups, as `group.share.*`."""

    max_size: int = 200
    settings: ModernGroupSettings = ModernGroupSettings()
    settings_of: Callable[[str], ModernGroupSettings] | None = None
    """The settings of a group by its id, if groups may have their own."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 100
    """How long the first rebalance of an empty group waits for more members.

    Each new member restarts the delay, up to the rebalance timeout. Kafka's default of three
    seconds delays every consumer that starts alone; a tenth of a second is enough for members that
    are started together.
    """
    group_max_size: int = 2**31 - 1
    group_metadata_max_bytes: int = 128 << 20
    """Limit for the metadata and assignments of members, in all groups of a node."""
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 7 * _DAY_MS
    offsets_retention_check_interval_ms: int = 600_000
    new_member_join_timeout_ms: int = 300_000
    """How long a new member's join may be parked: without a member id it can't send heartbeats."""
    persist_retry_ms: int = 1_000
    """Retry interval for an empty group that could not be persisted."""
    clock_lead_ms: Callable[[], int] = _no_lead_ms
    """How far the clock here is ahead of others, by which what is stored must not expire."""
    consumer: ConsumerGroupConfig = field(default_factory=ConsumerGroupConfig)
    share: ShareGroupConfig = field(default_factory=ShareGroupConfig)

    def consumer_settings(self, group_id: str) -> ModernGroupSettings:
        of_group = self.consumer.settings_of
        return self.consumer.settings if of_group is None else of_group(group_id)

    def share_settings(self, group_id: str) -> ModernGroupSettings:
        of_group = self.share.settings_of
        return self.share.settings if of_group is None else of_group(group_id)
