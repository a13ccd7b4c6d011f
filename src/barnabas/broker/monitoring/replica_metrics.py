"""Metrics of all replicas of this node together."""

from dataclasses import dataclass

from barnabas.broker.monitoring.partition_metrics import PartitionLines
from barnabas.broker.monitoring.transaction_metrics import OpenTransactions
from barnabas.broker.node import Node
from barnabas.broker.replica.partition import Partition
from barnabas.broker.runtime.slices import Slices
from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.metrics.metric import Metric

_PREFIX = "kafka_server_replicamanager_"
_SLICE = 200
"""Partitions in one turn of the event loop; each costs some ten microseconds."""


def _count(name: str, meaning: str, alarm: str = "") -> Metric:
    return gauge(_PREFIX + name, meaning, alarm=alarm)


_PARTITIONS = _count("partitioncount", "Replicas on this node")
_LEADERS = _count("leadercount", "Partitions that this node leads")
_UNDER_REPLICATED = _count(
    "underreplicatedpartitions",
    "Partitions led here with a replica that is not in sync",
    "above 0 for 15 minutes: a node is down or too slow, and one more failure may stop writes",
)
_UNDER_MIN_ISR = _count(
    "underminisrpartitioncount",
    "Partitions led here with fewer replicas in sync than min.insync.replicas",
    "above 0 for a minute: producers with acks=all fail",
)
_AT_MIN_ISR = _count(
    "atminisrpartitioncount", "Partitions led here with just min.insync.replicas in sync"
)
_OFFLINE = _count(
    "offlinereplicacount",
    "Replicas of this node that are not open: the disk failed, or they are yet to be recovered",
    "above 0 for 5 minutes after the start: look for storage errors in the log",
)
_REASSIGNING = _count("reassigningpartitions", "Partitions led here whose replicas are moving")
_MAX_LAG = gauge(
    "kafka_server_replicafetchermanager_maxlag",
    "Records by which the slowest follower is behind, of all partitions led here",
    alarm="growing for 10 minutes: a follower does not keep up",
)
_LOST = gauge(
    "barnabas_lost_records",
    "Offsets of partitions led here that a damaged disk has lost, and that reads fail at",
    alarm="above 0: the log of the node names the partitions and offsets",
)
_SHRINKS = counter(
    f"{_PREFIX}isrshrinks_total", "In-sync sets that became smaller at this leader's request"
)
_EXPANDS = counter(
    f"{_PREFIX}isrexpands_total", "In-sync sets that became larger at this leader's request"
)
_FAILED = counter(f"{_PREFIX}failedisrupdates_total", "Requests to change in-sync sets that failed")
LEFT_OUT = gauge(
    "barnabas_metrics_left_out",
    "Partitions, topics, or partitions of groups without metrics of their own, as there are more "
    "than metrics.max.partitions",
    "of",
)
METRICS = (
    *(_PARTITIONS, _LEADERS, _UNDER_REPLICATED, _UNDER_MIN_ISR, _AT_MIN_ISR, _OFFLINE),
    *(_REASSIGNING, _MAX_LAG, _LOST, _SHRINKS, _EXPANDS, _FAILED, LEFT_OUT),
)


@dataclass(slots=True)
class _Counts:
    partitions: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0
    at_min_isr: int = 0
    max_lag: int = 0
    lost: int = 0

    def add(self, node: Node, partition: Partition) -> None:
        self.partitions += 1
        leading = partition.leading
        if leading is None:
            return
        self.under_replicated += is_under_replicated(node, partition)
        self.under_min_isr += partition.lacks_replicas
        self.at_min_isr += len(partition.isr) == partition.limits.min_insync_replicas
        if not partition.log.config.skip_lost_records:
            self.lost += sum(each.end - each.start for each in partition.log.lost_ranges)
        end = partition.log.log_end_offset
        for follower in leading.followers.values():
            self.max_lag = max(self.max_lag, end - max(0, follower.log_end_offset))


def is_under_replicated(node: Node, partition: Partition) -> bool:
    """Whether a replica is not in sync, apart from those that a move adds."""
    if len(partition.isr) >= len(partition.replicas):
        return False
    image = node.image.partition(partition.topic_id, partition.index)
    adding = () if image is None else image.adding_replicas
    return bool(set(partition.replicas) - set(adding) - set(partition.isr))


def collect(
    node: Node, samples: Samples, max_partitions: int, transactions: OpenTransactions
) -> Slices[None]:
    """All replicas, in slices; also what `transactions` counts of them."""
    counts = _Counts()
    lines = PartitionLines(samples)
    for partition in node.partitions:
        if partition.deleted:
            continue
        node.traffic.update(partition)
        counts.add(node, partition)
        transactions.add(partition)
        if counts.partitions <= max_partitions:
            lines.add(partition)
        if counts.partitions % _SLICE == 0:
            yield
    assigned = moving = looked = 0
    for topic in tuple(node.image.topics.values()):
        for image in topic.partitions:
            assigned += node.node_id in image.replicas
            moving += image.leader == node.node_id and image.is_moving
        looked += len(topic.partitions)
        if looked > _SLICE:
            looked = 0
            yield
    samples.add(_PARTITIONS, counts.partitions)
    samples.add(_LEADERS, len(node.partitions.led))
    samples.add(_UNDER_REPLICATED, counts.under_replicated)
    samples.add(_UNDER_MIN_ISR, counts.under_min_isr)
    samples.add(_AT_MIN_ISR, counts.at_min_isr)
    samples.add(_OFFLINE, max(0, assigned - counts.partitions))
    samples.add(_REASSIGNING, moving)
    samples.add(_MAX_LAG, counts.max_lag)
    samples.add(_LOST, counts.lost)
    samples.add(_SHRINKS, node.isr_changes.shrunk)
    samples.add(_EXPANDS, node.isr_changes.expanded)
    samples.add(_FAILED, node.isr_changes.failed)
    samples.add(LEFT_OUT, max(0, counts.partitions - max_partitions), of="partitions")
