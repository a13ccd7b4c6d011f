"""Metrics of quotas: what clients with limits use, and how long requests are throttled."""

from itertools import islice

from barnabas.broker.net.request_times import AllRequestTimes
from barnabas.broker.node import Node
from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.metrics.metric import Kind, Metric
from barnabas.security.quotas.quota_key import QuotaKey

_MS = 1000
_MAX_ENTITIES = 1_000
"""Limits with samples of their own; client ids are the clients' choice."""
_LABELS = ("resource", "user", "clientId")

_THROTTLE_TIMES = Metric(
    "kafka_network_requestmetrics_throttletimems",
    Kind.SUMMARY,
    "Throttle time of requests that were throttled, in milliseconds",
    ("request", "quantile"),
    "above what your clients tolerate: raise their quota, or let them send less",
)
_BYTE_RATE = gauge(
    "kafka_server_quota_byte_rate",
    "Bytes a second of those with a quota: Produce, Fetch; of throttled replicas: "
    "LeaderReplication, FollowerReplication",
    *_LABELS,
)
_REQUEST_TIME = gauge(
    "kafka_server_quota_request_time",
    "Share of the node's time that those with a quota use, in percent",
    *_LABELS,
)
_THROTTLE_TIME = gauge(
    "kafka_server_quota_throttle_time",
    "How long the next request of those with a quota is throttled, in milliseconds",
    *_LABELS,
)
_CONNECTIONS = counter(
    "barnabas_throttled_connections_total",
    "Connections that were not served, as their address exceeded connection_creation_rate",
)
METRICS = (_THROTTLE_TIMES, _BYTE_RATE, _REQUEST_TIME, _THROTTLE_TIME, _CONNECTIONS)

_RESOURCES = {
    QuotaKey.PRODUCER_BYTE_RATE: ("Produce", _BYTE_RATE),
    QuotaKey.CONSUMER_BYTE_RATE: ("Fetch", _BYTE_RATE),
    QuotaKey.REQUEST_PERCENTAGE: ("Request", _REQUEST_TIME),
}


def collect(node: Node, times: AllRequestTimes, samples: Samples) -> None:
    for metric in METRICS:
        samples.of(metric)
    quotas = node.client_quotas
    for api_key, throttled in quotas.throttle_times.by_key.items():
        samples.add_quantiles(_THROTTLE_TIMES, throttled, _MS, request=times.by_key[api_key].name)
    for usage in islice(quotas.usage(), _MAX_ENTITIES):
        resource, metric = _RESOURCES[usage.key]
        entity = {"resource": resource}
        if usage.user is not None:
            entity["user"] = usage.user
        if usage.client_id is not None:
            entity["clientId"] = usage.client_id
        samples.add(metric, round(usage.per_second, 3), **entity)
        samples.add(_THROTTLE_TIME, usage.throttle_ms, **entity)
    throttles = node.partitions.throttles
    for resource, quota in (
        ("LeaderReplication", throttles.leader),
        ("FollowerReplication", throttles.follower),
    ):
        samples.add(_BYTE_RATE, round(quota.per_second(), 3), resource=resource)
    samples.add(_CONNECTIONS, node.connections.rates.throttled)
