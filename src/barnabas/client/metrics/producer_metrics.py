"""The metrics of a producer."""

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.metrics import definitions as d
from barnabas.client.metrics.client_metrics import ClientMetrics
from barnabas.client.metrics.network_metrics import milliseconds, network_metrics
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.wire.messages.produce import ProduceRequest


def producer_metrics(cluster: ClusterClient, producer: RecordProducer) -> ClientMetrics:
    """How it is now; for any thread."""
    now = cluster.environment.monotonic()
    counts, delivered, buffer = producer.counts, producer.count, producer.buffer
    latency = cluster.traffic.latency(ProduceRequest.API_KEY)
    return ClientMetrics(
        cluster.client_id,
        {
            d.RECORD_SEND_TOTAL: delivered.delivered,
            d.RECORD_ERROR_TOTAL: delivered.failed,
            d.RECORD_RETRY_TOTAL: counts.records_retried,
            d.BATCH_SIZE_AVG: counts.batch_bytes.average(now),
            d.BATCH_SIZE_MAX: counts.batch_bytes.maximum(now),
            d.RECORDS_PER_REQUEST_AVG: counts.request_records.average(now),
            d.RECORD_QUEUE_TIME_AVG: milliseconds(counts.queue_s.average(now)),
            d.RECORD_QUEUE_TIME_MAX: milliseconds(counts.queue_s.maximum(now)),
            d.REQUEST_LATENCY_AVG: milliseconds(latency.average(now)),
            d.REQUEST_LATENCY_MAX: milliseconds(latency.maximum(now)),
            d.PRODUCE_THROTTLE_TIME_AVG: counts.throttle_ms.average(now),
            d.PRODUCE_THROTTLE_TIME_MAX: counts.throttle_ms.maximum(now),
            d.BUFFER_TOTAL_BYTES: buffer.size,
            d.BUFFER_AVAILABLE_BYTES: max(0, buffer.free),
            d.WAITING_THREADS: buffer.waiting,
            **network_metrics(cluster, d.PRODUCER_NETWORK, now),
        },
    )
