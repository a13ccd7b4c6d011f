"""Metrics of the cluster: its controller, its quorum, and this node's place in it."""

from barnabas.broker.node import Node
from barnabas.broker.runtime.slices import Slices
from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.metrics.metric import Metric

_SLICE = 2000
_STARTING, _RUNNING, _LEAVING = 1, 3, 6


def _controller(name: str, meaning: str, alarm: str = "") -> Metric:
    meaning = f"{meaning}; 0 on nodes that are not the controller"
    return gauge(f"kafka_controller_kafkacontroller_{name}", meaning, alarm=alarm)


def _raft(name: str, meaning: str) -> Metric:
    return gauge(f"kafka_server_raft_metrics_{name}", meaning)


_ACTIVE = gauge(
    "kafka_controller_kafkacontroller_activecontrollercount",
    "1 on the node that is the controller",
    alarm="a sum over all nodes other than 1 for a minute: without a controller no leader is "
    "elected",
)
_OFFLINE = _controller(
    "offlinepartitionscount",
    "Partitions without a leader",
    "above 0 for a minute: they can be neither written nor read",
)
_IMBALANCE = _controller(
    "preferredreplicaimbalancecount", "Partitions whose leader is not the preferred replica"
)
_TOPICS = _controller("globaltopiccount", "Topics")
_PARTITIONS = _controller("globalpartitioncount", "Partitions")
_BROKERS = _controller("activebrokercount", "Registered brokers that are not fenced")
_FENCED = _controller(
    "fencedbrokercount", "Registered brokers that are fenced", "above 0 for 5 minutes: it is down"
)
_EXPORTED_BROKERS = gauge(
    "kafka_brokers", "Brokers that are not fenced; reported by the controller"
)
_TOPIC_PARTITIONS = gauge(
    "kafka_topic_partitions", "Number of partitions; reported by the controller", "topic"
)
_STATE = gauge(
    "kafka_server_kafkaserver_brokerstate",
    "State of this node: 1 starting, 3 running, 6 handing over its leadership",
)
_CUT_OFF = gauge(
    "barnabas_cut_off",
    "1 while this node has no contact with the controller, and does not act as a leader",
    alarm="1 for a minute: the network, the controller, or this node is in trouble",
)
_LEADER = _raft("current_leader", "Node id of the controller as this node knows it; -1 for none")
_EPOCH = _raft("current_epoch", "Epoch of the metadata quorum")
_HIGH_WATERMARK = _raft("high_watermark", "Committed end of the metadata log")
_END = _raft("log_end_offset", "End of the metadata log on this node")
_APPLIED = gauge(
    "kafka_server_broker_metadata_metrics_last_applied_record_offset",
    "End of the metadata that this node has applied",
)
_NO_ROOM = gauge(
    "barnabas_metadata_disk_full",
    "1 while the metadata log waits for disk space",
    alarm="1: make room on the disk",
)
_STALLED = counter(
    "barnabas_event_loop_stalled_seconds_total",
    "Time for which the event loop stood still, in stalls of 50 ms and more",
)
METRICS = (
    *(_ACTIVE, _OFFLINE, _IMBALANCE, _TOPICS, _PARTITIONS, _BROKERS, _FENCED),
    *(_EXPORTED_BROKERS, _TOPIC_PARTITIONS, _STATE, _CUT_OFF),
    *(_LEADER, _EPOCH, _HIGH_WATERMARK, _END, _APPLIED, _NO_ROOM, _STALLED),
)


def collect(node: Node, samples: Samples, max_topics: int, *, is_serving: bool) -> Slices[None]:
    quorum = node.quorum
    status = quorum.status()
    leads = quorum.is_leader
    samples.add(_ACTIVE, int(leads))
    samples.add(_LEADER, -1 if status.leader_id is None else status.leader_id)
    samples.add(_EPOCH, status.epoch)
    samples.add(_HIGH_WATERMARK, status.high_watermark)
    samples.add(_END, quorum.log_end_offset)
    samples.add(_APPLIED, node.follower.end_offset)
    samples.add(_NO_ROOM, int(quorum.no_room is not None))
    samples.add(_STALLED, quorum.stalls.total_ms() / 1000)
    samples.add(_CUT_OFF, int(node.lifecycle.is_cut_off))
    state = _RUNNING if is_serving else _STARTING
    samples.add(_STATE, _LEAVING if node.lifecycle.is_leaving else state)
    offline = imbalanced = partitions = 0
    topics = tuple(node.image.topics.values()) if leads else ()
    looked = 0
    for number, topic in enumerate(topics):
        partitions += len(topic.partitions)
        offline += sum(each.leader < 0 for each in topic.partitions)
        imbalanced += sum(each.leader != each.replicas[0] for each in topic.partitions)
        if number < max_topics:
            samples.add(_TOPIC_PARTITIONS, len(topic.partitions), topic=topic.name)
        looked += len(topic.partitions)
        if looked >= _SLICE:
            looked = 0
            yield
    brokers = node.image.brokers.values() if leads else ()
    fenced = sum(each.fenced for each in brokers)
    samples.add(_OFFLINE, offline)
    samples.add(_IMBALANCE, imbalanced)
    samples.add(_TOPICS, len(topics))
    samples.add(_PARTITIONS, partitions)
    samples.add(_BROKERS, len(brokers) - fenced)
    samples.add(_FENCED, fenced)
    if leads:
        samples.add(_EXPORTED_BROKERS, len(brokers) - fenced)
