"""How many requests were answered, with which status, and how long that took."""

from barnabas.metrics.exposition import Samples, counter
from barnabas.metrics.histogram import DELAYS_S, Histogram
from barnabas.metrics.metric import Kind, Metric

_REQUESTS = counter(
    "barnabas_registry_requests_total", "Requests by route and status", "method", "path", "status"
)
_SECONDS = Metric(
    "barnabas_registry_request_seconds",
    Kind.HISTOGRAM,
    "Time from a request to its answer",
    ("method", "path"),
)


class RequestCounts:
    """Those of one instance. Routes have `*` for names, so there are few."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], int] = {}
        self._times: dict[tuple[str, str], Histogram] = {}

    def add(self, method: str, path: str, status: int, seconds: float) -> None:
        key = (method, path, status)
        self._counts[key] = self._counts.get(key, 0) + 1
        times = self._times.get((method, path))
        if times is None:
            times = self._times[method, path] = Histogram(DELAYS_S)
        times.observe(seconds)

    def add_to(self, samples: Samples) -> None:
        for (method, path, status), count in sorted(self._counts.items()):
            samples.add(_REQUESTS, count, method=method, path=f"/{path}", status=status)
        for (method, path), times in sorted(self._times.items()):
            samples.add_histogram(_SECONDS, times, method=method, path=f"/{path}")
