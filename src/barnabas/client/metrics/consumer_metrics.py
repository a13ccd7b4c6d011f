"""The metrics of a consumer."""

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.metrics import definitions as d
from barnabas.client.metrics.client_metrics import ClientMetric, ClientMetrics
from barnabas.client.metrics.network_metrics import milliseconds, network_metrics
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest


def consumer_metrics(core: ConsumerCore) -> ClientMetrics:
    """How it is now; for any thread."""
    cluster, fetcher, queue = core.cluster, core.fetcher, core.delivery_queue
    now = cluster.environment.monotonic()
    lags = known_lags(core)
    fetches = cluster.traffic.latency(FetchRequest.API_KEY)
    values: dict[ClientMetric, float | None] = {
        d.RECORDS_CONSUMED_TOTAL: queue.records,
        d.BYTES_CONSUMED_TOTAL: fetcher.counts.bytes_fetched,
        d.RECORDS_LAG_MAX: max(lags.values(), default=None),
        d.FETCH_TOTAL: fetches.count,
        d.FETCH_LATENCY_AVG: milliseconds(fetches.average(now)),
        d.FETCH_LATENCY_MAX: milliseconds(fetches.maximum(now)),
        d.FETCH_SIZE_AVG: fetcher.counts.partition_bytes.average(now),
        d.FETCH_SIZE_MAX: fetcher.counts.partition_bytes.maximum(now),
        d.FETCH_THROTTLE_TIME_AVG: fetcher.counts.throttle_ms.average(now),
        d.FETCH_THROTTLE_TIME_MAX: fetcher.counts.throttle_ms.maximum(now),
        d.ASSIGNED_PARTITIONS: len(fetcher.states),
        **network_metrics(cluster, d.CONSUMER_NETWORK, now),
    }
    if core.committer is not None:
        commits = cluster.traffic.latency(OffsetCommitRequest.API_KEY)
        heartbeats = cluster.traffic.latency(
            HeartbeatRequest.API_KEY, ConsumerGroupHeartbeatRequest.API_KEY
        )
        values |= {
            d.COMMIT_TOTAL: commits.count,
            d.COMMIT_LATENCY_AVG: milliseconds(commits.average(now)),
            d.COMMIT_LATENCY_MAX: milliseconds(commits.maximum(now)),
            d.HEARTBEAT_TOTAL: heartbeats.count,
            d.HEARTBEAT_RESPONSE_TIME_MAX: milliseconds(heartbeats.maximum(now)),
            d.REBALANCE_TOTAL: 0 if core.rebalancer is None else core.rebalancer.count,
        }
    return ClientMetrics(cluster.client_id, values, {d.RECORDS_LAG: lags})


def known_lags(core: ConsumerCore) -> dict[TopicPartition, int]:
    """Of the partitions that were fetched, as far as the last fetch told; it asks no broker."""
    return {
        name: max(0, state.high_watermark - core.position_of(state.progress))
        for name, state in core.fetcher.states.items()
        if state.high_watermark >= 0
    }
