"""Settings of the group coordinator, named after Kafka's, all times in milliseconds."""

from dataclasses import dataclass

_DAY_MS = 24 * 60 * 60 * 1000


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
