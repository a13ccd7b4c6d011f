"""Metrics of single partitions: of each replica on this node, and of each partition that it leads.

What is the same on all nodes is told by the leader only, so that sums over nodes are right.
"""

from barnabas.broker.replica.partition import Partition
from barnabas.metrics.exposition import Samples, escaped, gauge
from barnabas.metrics.metric import Metric

_LABELS = ("topic", "partition")


def _log(name: str, meaning: str) -> Metric:
    return gauge(f"kafka_log_log_{name}", f"{meaning} of a replica on this node", *_LABELS)


def _led(name: str, meaning: str, alarm: str = "") -> Metric:
    return gauge(name, f"{meaning}; reported by the leader", *_LABELS, alarm=alarm)


OF_REPLICAS = (
    _log("size", "Bytes in the log"),
    _log("numlogsegments", "Segments in the log"),
    _log("logstartoffset", "First offset"),
    _log("logendoffset", "Next offset"),
)
OF_LEADERS = (
    _led("kafka_topic_partition_current_offset", "High watermark of a partition"),
    _led("kafka_topic_partition_oldest_offset", "First offset of a partition"),
    _led("kafka_topic_partition_replicas", "Number of replicas of a partition"),
    _led("kafka_topic_partition_in_sync_replica", "Number of replicas in sync"),
    _led("kafka_topic_partition_leader", "Node id of the leader of a partition"),
    _led("kafka_topic_partition_leader_is_preferred", "1 if the preferred replica leads"),
    _led("kafka_topic_partition_under_replicated_partition", "1 if a replica is not in sync"),
    _led(
        "kafka_cluster_partition_underminisr",
        "1 if fewer replicas are in sync than min.insync.replicas, so that acks=all fails",
    ),
    _led("kafka_cluster_partition_atminisr", "1 if just min.insync.replicas are in sync"),
)
METRICS = (*OF_REPLICAS, *OF_LEADERS)


class PartitionLines:
    """Adds the lines of partitions; the labels of each are formatted once."""

    def __init__(self, samples: Samples) -> None:
        self._of_replicas = [(metric.name, samples.of(metric).append) for metric in OF_REPLICAS]
        self._of_leaders = [(metric.name, samples.of(metric).append) for metric in OF_LEADERS]

    def add(self, partition: Partition) -> None:
        log = partition.log
        shown = f'{{topic="{escaped(partition.topic)}",partition="{partition.index}"}}'
        values = (log.size_bytes, len(log.segments), log.log_start_offset, log.log_end_offset)
        for (name, append), value in zip(self._of_replicas, values, strict=True):
            append(f"{name}{shown} {value}\n")
        if not partition.is_leader:
            return
        in_sync = len(partition.isr)
        replicas = partition.replicas
        of_leader = (
            partition.high_watermark,
            log.log_start_offset,
            len(replicas),
            in_sync,
            partition.leader_id,
            int(replicas[0] == partition.leader_id),
            int(in_sync < len(replicas)),
            int(partition.lacks_replicas),
            int(in_sync == partition.limits.min_insync_replicas),
        )
        for (name, append), value in zip(self._of_leaders, of_leader, strict=True):
            append(f"{name}{shown} {value}\n")
