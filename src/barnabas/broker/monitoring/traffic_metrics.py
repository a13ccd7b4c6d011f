"""Records and bytes in and out, for all topics together and for each."""

from barnabas.broker.node import Node
from barnabas.metrics.exposition import Samples, counter
from barnabas.metrics.metric import Metric

_PREFIX = "kafka_server_brokertopicmetrics_"
_BOTH = "; without a label for all topics together, and for each topic"


def _traffic(name: str, meaning: str) -> Metric:
    return counter(f"{_PREFIX}{name}_total", meaning + _BOTH, "topic")


_BY_FIELD = {
    "messages_in": _traffic(
        "messagesin", "Offsets that producers have filled: records and transaction markers"
    ),
    "bytes_in": _traffic("bytesin", "Bytes of batches that producers have appended"),
    "bytes_out": _traffic("bytesout", "Bytes of batches that consumers have read"),
    "replication_bytes_in": _traffic(
        "replicationbytesin", "Bytes of batches that this node has copied from leaders"
    ),
    "replication_bytes_out": _traffic(
        "replicationbytesout", "Bytes of batches that followers have read"
    ),
}
METRICS = tuple(_BY_FIELD.values())


def collect(node: Node, samples: Samples, max_topics: int) -> int:
    """Returns how many topics were left out. Partitions have been counted before."""
    traffic = node.traffic
    for topic in traffic.by_topic.keys() - node.partitions.by_name.keys():
        traffic.forget(topic)
    topics = sorted(traffic.by_topic.items())
    for field, metric in _BY_FIELD.items():
        samples.add(metric, getattr(traffic.total, field))
        for topic, counted in topics[:max_topics]:
            samples.add(metric, getattr(counted, field), topic=topic)
    return max(0, len(topics) - max_topics)
