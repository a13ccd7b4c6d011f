"""The metrics of connections, which all clients have."""

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.metrics.client_metrics import ClientMetric
from barnabas.client.metrics.definitions import NetworkMetrics


def network_metrics(
    cluster: ClusterClient, metrics: NetworkMetrics, now: float
) -> dict[ClientMetric, float | None]:
    traffic = cluster.traffic
    responses = traffic.responses  # before the requests, so that the difference is not negative
    return {
        metrics.connection_count: cluster.connection_count,
        metrics.connections_made: traffic.connections_made,
        metrics.requests: traffic.requests,
        metrics.responses: responses,
        metrics.in_flight: cluster.requests_in_flight,
        metrics.bytes_out: traffic.bytes_out,
        metrics.bytes_in: traffic.bytes_in,
        metrics.size_avg: traffic.request_bytes.average(now),
        metrics.size_max: traffic.request_bytes.maximum(now),
    }


def milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
