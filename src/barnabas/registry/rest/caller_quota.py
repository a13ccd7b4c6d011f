"""How many requests a second each caller may send.

A caller is a user where callers sign in, and an address elsewhere. Each has a bucket that holds the
requests of one second and fills at the rate of the quota, so short bursts pass.
"""

import math
from dataclasses import dataclass

from barnabas.registry.model.errors import over_quota

_MAX_CALLERS = 10_000
"""Of the others, the ones that have asked least recently are forgotten: they get a full bucket."""


@dataclass(slots=True)
class _Bucket:
    left: float
    filled_at: float


class CallerQuota:
    """The requests of callers at one instance."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._capacity = max(1.0, per_second)
        self._buckets: dict[str, _Bucket] = {}
        """The callers that have asked least recently first."""

    def take(self, caller: str, now: float) -> None:
        """Count a request at a time in seconds. Raises `RegistryRefusal` if it is one too many."""
        bucket = self._buckets.pop(caller, None) or _Bucket(self._capacity, now)
        self._buckets[caller] = bucket
        if len(self._buckets) > _MAX_CALLERS:
            del self._buckets[next(iter(self._buckets))]
        gained = max(0.0, now - bucket.filled_at) * self._per_second
        bucket.left = min(self._capacity, bucket.left + gained)
        bucket.filled_at = now
        if bucket.left < 1.0:
            wait_s = math.ceil((1.0 - bucket.left) / self._per_second)
            raise over_quota(caller, self._per_second, wait_s)
        bucket.left -= 1.0
