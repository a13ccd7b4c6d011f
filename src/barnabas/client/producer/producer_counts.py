"""What a producer counts of batches and requests, for its metrics; nothing for a single record."""

from barnabas.client.connect.traffic import RecentAverage


class ProducerCounts:
    """Written by the producer's loop only."""

    def __init__(self) -> None:
        self.records_retried = 0
        self.batch_bytes = RecentAverage()
        self.request_records = RecentAverage()
        self.queue_s = RecentAverage()
        """From the first record of a batch to the first attempt."""
        self.throttle_ms = RecentAverage()
