"""What a consumer counts of its fetches, for its metrics; nothing for a single record."""

from barnabas.client.connect.traffic import RecentAverage


class FetchCounts:
    """Written by the thread that fetches only."""

    def __init__(self) -> None:
        self.bytes_fetched = 0
        self.partition_bytes = RecentAverage()
        self.throttle_ms = RecentAverage()
