"""Settings of the group coordinator, named after Kafka's, all times in milliseconds."""

from dataclasses import dataclass

_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class GroupConfig:
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 100
    """How long the first rebalance of an empty group waits for more members.

    It starts again whenever somebody arrives, until the rebalance timeout. Kafka's default of
    three seconds is felt by everybody who starts one consumer, and a tenth of a second is enough
    to gather members that are started together.
    """
    group_max_size: int = 2**31 - 1
    group_metadata_max_bytes: int = 128 << 20
    """What members say of themselves and are given, in all groups of a node."""
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 7 * _DAY_MS
    offsets_retention_check_interval_ms: int = 600_000
    new_member_join_timeout_ms: int = 300_000
    """How long a new member may be parked: it knows no member id yet, so it cannot heartbeat."""
    persist_retry_ms: int = 1_000
    """After how long an empty group that could not be persisted tries again."""
