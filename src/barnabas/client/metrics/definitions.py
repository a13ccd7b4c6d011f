"""Every metric of our clients. Names, groups and units are those of Kafka's own clients.

Averages and maxima are of the last 30 to 60 seconds; those without a value then are left out.
"""

from barnabas.client.metrics.client_metrics import ClientMetric

PRODUCER = "producer"
CONSUMER = "consumer"


def _producer(name: str, meaning: str) -> ClientMetric:
    return ClientMetric(PRODUCER, "producer-metrics", name, meaning)


def _fetches(name: str, meaning: str, *, of_partition: bool = False) -> ClientMetric:
    return ClientMetric(CONSUMER, "consumer-fetch-manager-metrics", name, meaning, of_partition)


def _coordinator(name: str, meaning: str) -> ClientMetric:
    return ClientMetric(CONSUMER, "consumer-coordinator-metrics", name, meaning)


RECORD_SEND_TOTAL = _producer("record-send-total", "Records delivered")
RECORD_ERROR_TOTAL = _producer("record-error-total", "Records that were given up")
RECORD_RETRY_TOTAL = _producer("record-retry-total", "Records that were sent again")
BATCH_SIZE_AVG = _producer("batch-size-avg", "Bytes of a batch, compressed")
BATCH_SIZE_MAX = _producer("batch-size-max", "Bytes of the largest batch, compressed")
RECORDS_PER_REQUEST_AVG = _producer("records-per-request-avg", "Records in a request")
RECORD_QUEUE_TIME_AVG = _producer(
    "record-queue-time-avg", "Milliseconds from the first record of a batch to its first attempt"
)
RECORD_QUEUE_TIME_MAX = _producer("record-queue-time-max", "The longest of these times")
REQUEST_LATENCY_AVG = _producer(
    "request-latency-avg", "Milliseconds until a Produce request is answered"
)
REQUEST_LATENCY_MAX = _producer("request-latency-max", "The longest of these times")
PRODUCE_THROTTLE_TIME_AVG = _producer(
    "produce-throttle-time-avg", "Milliseconds for which brokers throttle this client"
)
PRODUCE_THROTTLE_TIME_MAX = _producer("produce-throttle-time-max", "The longest of these times")
BUFFER_TOTAL_BYTES = _producer("buffer-total-bytes", "`buffer_bytes`")
BUFFER_AVAILABLE_BYTES = _producer(
    "buffer-available-bytes", "Bytes of it that are free; at 0, `send` waits"
)
WAITING_THREADS = _producer("waiting-threads", "Calls of `send` that wait for room in the buffer")

RECORDS_CONSUMED_TOTAL = _fetches("records-consumed-total", "Records decoded for the application")
BYTES_CONSUMED_TOTAL = _fetches("bytes-consumed-total", "Bytes of batches fetched, compressed")
RECORDS_LAG_MAX = _fetches("records-lag-max", "The largest lag of the assigned partitions")
RECORDS_LAG = _fetches(
    "records-lag",
    "Offsets between the position and the end of a partition, as of its last fetch",
    of_partition=True,
)
FETCH_TOTAL = _fetches("fetch-total", "Fetch requests answered")
FETCH_LATENCY_AVG = _fetches(
    "fetch-latency-avg", "Milliseconds until a fetch is answered, waiting for records included"
)
FETCH_LATENCY_MAX = _fetches("fetch-latency-max", "The longest of these times")
FETCH_SIZE_AVG = _fetches("fetch-size-avg", "Bytes that a fetch returned of a partition")
FETCH_SIZE_MAX = _fetches("fetch-size-max", "The most of these bytes")
FETCH_THROTTLE_TIME_AVG = _fetches(
    "fetch-throttle-time-avg", "Milliseconds for which brokers throttle this client"
)
FETCH_THROTTLE_TIME_MAX = _fetches("fetch-throttle-time-max", "The longest of these times")

ASSIGNED_PARTITIONS = _coordinator("assigned-partitions", "Partitions that are being read")
COMMIT_TOTAL = _coordinator("commit-total", "Commits answered")
COMMIT_LATENCY_AVG = _coordinator("commit-latency-avg", "Milliseconds until a commit is answered")
COMMIT_LATENCY_MAX = _coordinator("commit-latency-max", "The longest of these times")
HEARTBEAT_TOTAL = _coordinator("heartbeat-total", "Heartbeats answered")
HEARTBEAT_RESPONSE_TIME_MAX = _coordinator(
    "heartbeat-response-time-max", "Milliseconds until a heartbeat was answered, at most"
)
REBALANCE_TOTAL = _coordinator("rebalance-total", "Assignments that the group has given")


class NetworkMetrics:
    """What all clients have, in the group of the client."""

    def __init__(self, client: str) -> None:
        def metric(name: str, meaning: str) -> ClientMetric:
            return ClientMetric(client, f"{client}-metrics", name, meaning)

        self.connection_count = metric("connection-count", "Open connections")
        self.connections_made = metric("connection-creation-total", "Connections made")
        self.requests = metric("request-total", "Requests sent")
        self.responses = metric("response-total", "Responses received")
        self.in_flight = metric("requests-in-flight", "Requests that wait for their response")
        self.bytes_out = metric("outgoing-byte-total", "Bytes sent")
        self.bytes_in = metric("incoming-byte-total", "Bytes received")
        self.size_avg = metric("request-size-avg", "Bytes of a request")
        self.size_max = metric("request-size-max", "Bytes of the largest request")


PRODUCER_NETWORK = NetworkMetrics(PRODUCER)
CONSUMER_NETWORK = NetworkMetrics(CONSUMER)


def definitions() -> list[ClientMetric]:
    """All of them, in order."""
    own = [each for each in globals().values() if isinstance(each, ClientMetric)]
    shared = [
        each for network in (PRODUCER_NETWORK, CONSUMER_NETWORK) for each in vars(network).values()
    ]
    return [*own, *shared]
