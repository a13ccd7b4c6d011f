"""How long micro-batches took, as a histogram with bounds in seconds."""

from barnabas.metrics.histogram import Histogram

BOUNDS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


def batch_durations() -> Histogram:
    """Of a query that has had none yet."""
    return Histogram(BOUNDS_S)
