"""One scrape: all metrics of a node as text, gathered in slices of the event loop."""

from asyncio import Lock, sleep

from barnabas.broker.monitoring import (
    client_metrics,
    cluster_metrics,
    group_metrics,
    quota_metrics,
    replica_metrics,
    request_metrics,
    storage_metrics,
    traffic_metrics,
    transaction_metrics,
)
from barnabas.broker.monitoring.health import Health
from barnabas.broker.monitoring.process_metrics import ProcessMetrics
from barnabas.broker.net.request_times import AllRequestTimes
from barnabas.broker.node import Node
from barnabas.broker.runtime.slices import awaited
from barnabas.metrics.exposition import Samples


class Scraper:
    """Makes one scrape at a time."""

    def __init__(self, node: Node, times: AllRequestTimes, health: Health) -> None:
        self._node = node
        self._times = times
        self._health = health
        self._process = ProcessMetrics()
        self._one_at_a_time = Lock()

    async def scrape(self) -> list[bytes]:
        async with self._one_at_a_time:
            return await self._scrape()

    async def _scrape(self) -> list[bytes]:
        node = self._node
        limit = node.config.monitoring.metrics_max_partitions
        samples = Samples()
        serving = self._health.is_serving
        await awaited(cluster_metrics.collect(node, samples, limit, is_serving=serving))
        transactions = transaction_metrics.OpenTransactions(node)
        await awaited(replica_metrics.collect(node, samples, limit, transactions))
        topics_left_out = traffic_metrics.collect(node, samples, limit)
        samples.add(replica_metrics.LEFT_OUT, topics_left_out, of="topics")
        await group_metrics.collect(node, samples, limit)
        await awaited(transaction_metrics.collect(node, samples, transactions))
        request_metrics.collect(self._times, node.request_errors, samples)
        request_metrics.collect_connections(node.connections, samples)
        quota_metrics.collect(node, self._times, samples)
        storage_metrics.collect(node, samples, *self._health.recovery())
        await awaited(client_metrics.collect(node.telemetry, samples))
        self._process.collect(samples, node.quorum.stalls.delays)
        encoded = []
        for part in samples.encoded():
            encoded.append(part)
            await sleep(0)
        return encoded
