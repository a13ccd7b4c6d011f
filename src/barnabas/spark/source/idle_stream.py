"""Whether a stream is idle: then its reader may wait for news before it answers Spark."""

from time import monotonic

_BATCH_S = 0.05


class IdleStream:
    """The questions of one stream.

    Spark asks where the next batch ends, again and again. A question that comes sooner after the
    last answer than any batch takes means that Spark had nothing to do. One that comes later must
    not wait: another source of the query may have rows.
    """

    def __init__(self) -> None:
        self._answered_at: float | None = None

    @property
    def is_idle(self) -> bool:
        """Whether Spark has asked, had nothing to do, and asks again."""
        return self._answered_at is not None and monotonic() - self._answered_at < _BATCH_S

    def answered(self) -> None:
        """Spark gets its answer now."""
        self._answered_at = monotonic()
