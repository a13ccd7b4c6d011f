"""How long requests were throttled, by API."""

from barnabas.metrics.histogram import TIMES_S, Histogram


class ThrottleTimes:
    """Only requests that were throttled count."""

    def __init__(self) -> None:
        self.by_key: dict[int, Histogram] = {}

    def add(self, api_key: int, throttle_ms: int) -> None:
        times = self.by_key.get(api_key)
        if times is None:
            times = self.by_key[api_key] = Histogram(TIMES_S)
        times.observe(throttle_ms / 1_000)

    def rotate(self) -> None:
        for times in self.by_key.values():
            times.rotate()
