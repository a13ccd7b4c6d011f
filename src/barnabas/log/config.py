"""The settings of one partition's log, under Kafka's names and in Kafka's units."""

from dataclasses import dataclass

UNLIMITED = -1
_NEVER = 2**63 - 1  # how Kafka's defaults write "never" for flush.messages and flush.ms

_DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings that `log/` uses; limits of requests and timing of jobs are the broker's."""

    segment_bytes: int = 2**30
    segment_ms: int = 7 * _DAY_MS
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * _DAY_MS
    retention_bytes: int = UNLIMITED
    flush_messages: int = UNLIMITED
    flush_ms: int = UNLIMITED
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    message_timestamp_type: str = "CreateTime"
    delete_retention_ms: int = _DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = _NEVER
    min_cleanable_dirty_ratio: float = 0.5
    producer_id_expiration_ms: int = _DAY_MS
    max_producers: int = 20_000
    """Whose state is kept; each takes about a kilobyte."""
    skip_lost_records: bool = False
    """Reads continue behind lost records instead of failing."""

    @property
    def flushes_by_count(self) -> bool:
        return 0 < self.flush_messages < _NEVER

    @property
    def flushes_by_age(self) -> bool:
        return 0 <= self.flush_ms < _NEVER

    @property
    def is_log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"
