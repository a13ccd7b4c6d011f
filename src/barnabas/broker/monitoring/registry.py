"""All metrics that a node has, by what they are about."""

from collections.abc import Mapping, Sequence

from barnabas.broker.monitoring import (
    client_metrics,
    cluster_metrics,
    group_metrics,
    partition_metrics,
    process_metrics,
    quota_metrics,
    replica_metrics,
    request_metrics,
    storage_metrics,
    traffic_metrics,
    transaction_metrics,
)
from barnabas.metrics.metric import Metric

SECTIONS: Mapping[str, Sequence[Metric]] = {
    "Cluster and controller": cluster_metrics.METRICS,
    "Replicas": replica_metrics.METRICS,
    "Traffic": traffic_metrics.METRICS,
    "Requests and connections": request_metrics.METRICS,
    "Quotas": quota_metrics.METRICS,
    "Groups and lag": group_metrics.METRICS,
    "Transactions": transaction_metrics.METRICS,
    "Partitions": partition_metrics.METRICS,
    "Storage": storage_metrics.METRICS,
    "Client metrics": client_metrics.METRICS,
    "Process": process_metrics.METRICS,
}
METRICS: Mapping[str, Metric] = {
    metric.name: metric for metrics in SECTIONS.values() for metric in metrics
}
