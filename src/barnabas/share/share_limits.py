"""The settings that a share partition works with; those of its group, or the broker's."""

from dataclasses import dataclass

_MIN_THROTTLED_COUNT = 2


@dataclass(frozen=True, slots=True)
class ShareLimits:
    record_lock_duration_ms: int = 30_000
    delivery_count_limit: int = 5
    """A record that was delivered this often is archived instead of made available again."""
    max_record_locks: int = 2_000
    """Records that may be acquired or waiting for another delivery, a soft limit."""
    renew_enabled: bool = True

    @property
    def throttled_count(self) -> int:
        """Records that were delivered this often come in smaller batches: one of them may be what
        their consumers fail at."""
        return max(_MIN_THROTTLED_COUNT, -(-self.delivery_count_limit // 2))

    def throttled_size(self, delivery_count: int, batch_size: int) -> int:
        """How many records of such a batch are delivered at once; one by one at last."""
        limit = self.delivery_count_limit
        if limit > _MIN_THROTTLED_COUNT and delivery_count >= limit - 1:
            return 1
        return max(1, batch_size >> (delivery_count - self.throttled_count + 1))
