"""What a client knows about a cluster: its brokers, and who leads which partition."""

from typing import NamedTuple

from barnabas.client.address import Address
from barnabas.wire.messages.metadata import MetadataResponse, MetadataResponseTopic

NO_LEADER = -1


class TopicPartition(NamedTuple):
    """A partition's name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Broker(NamedTuple):
    """A broker as it advertises itself."""

    node_id: int
    address: Address
    rack: str | None


class Partition(NamedTuple):
    """A partition; `leader` is NO_LEADER while it has none."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]


class Topic(NamedTuple):
    """A topic with its partitions in order. `error_code` stands for why there may be none."""

    name: str
    error_code: int
    is_internal: bool
    partitions: list[Partition]


class ClusterImage(NamedTuple):
    """One metadata answer."""

    cluster_id: str | None
    controller_id: int
    brokers: dict[int, Broker]
    topics: dict[str, Topic]


def image_of(response: MetadataResponse) -> ClusterImage:
    """Make the image from the wire message."""
    brokers = {
        broker.node_id: Broker(broker.node_id, Address(broker.host, broker.port), broker.rack)
        for broker in response.brokers
    }
    topics = {topic.name or "": _topic_of(topic) for topic in response.topics}
    return ClusterImage(response.cluster_id, response.controller_id, brokers, topics)


def _topic_of(topic: MetadataResponseTopic) -> Topic:
    partitions = [
        Partition(
            partition.partition_index,
            partition.leader_id,
            partition.leader_epoch,
            partition.replica_nodes,
            partition.isr_nodes,
            partition.offline_replicas,
        )
        for partition in topic.partitions
    ]
    partitions.sort()
    return Topic(topic.name or "", topic.error_code, topic.is_internal, partitions)
