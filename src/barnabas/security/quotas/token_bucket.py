"""A rate that allows bursts, as Kafka limits changes of topics.

The bucket fills with the rate, up to what eleven windows bring. What is taken may exceed what is
there; then nothing more may be taken until the debt is paid.
"""

from barnabas.security.quotas.rate import QuotaWindows


class TokenBucket:
    """All times are of one steady clock."""

    __slots__ = ("_at_ms", "_tokens")

    def __init__(self, bound: float, now_ms: int, windows: QuotaWindows) -> None:
        self._at_ms = now_ms
        self._tokens = _burst(bound, windows)

    def tokens(self, bound: float, now_ms: int, windows: QuotaWindows) -> float:
        """What is left; negative if too much was taken."""
        passed_s = max(0, now_ms - self._at_ms) / 1_000
        self._at_ms = max(self._at_ms, now_ms)
        self._tokens = min(_burst(bound, windows), self._tokens + bound * passed_s)
        return self._tokens

    def is_full(self, bound: float, now_ms: int, windows: QuotaWindows) -> bool:
        return self.tokens(bound, now_ms, windows) >= _burst(bound, windows)

    def take(self, count: float, bound: float, now_ms: int, windows: QuotaWindows) -> None:
        """Take `count`; a negative one is given back."""
        left = self.tokens(bound, now_ms, windows) - count
        self._tokens = min(_burst(bound, windows), left)

    def throttle_ms(self, bound: float, now_ms: int, windows: QuotaWindows) -> int:
        """How long to wait until the debt is paid; 0 if there is none."""
        left = self.tokens(bound, now_ms, windows)
        return 0 if left >= 0 else int(-left / bound * 1_000 + 0.5)


def _burst(bound: float, windows: QuotaWindows) -> float:
    return windows.number * windows.size_ms / 1_000 * bound
