"""What a client knows about a cluster: its brokers, and who leads which partition."""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.wire.endpoint import Address
from barnabas.wire.messages.metadata import MetadataResponse, MetadataResponseTopic
from barnabas.wire.primitives import ZERO_UUID

NO_LEADER = -1


class TopicPartition(NamedTuple):
    """A topic and a partition number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Broker(NamedTuple):
    """A broker as it advertises itself."""

    node_id: int
    address: Address
    rack: str | None


class PartitionMetadata(NamedTuple):
    """A partition; `leader` is NO_LEADER while it has none."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]


class TopicMetadata(NamedTuple):
    """A topic with its partitions in order. `error_code` stands for why there may be none."""

    name: str
    error_code: int
    is_internal: bool
    partitions: list[PartitionMetadata]
    topic_id: bytes = ZERO_UUID


class ClusterImage(NamedTuple):
    """One metadata answer."""

    cluster_id: str | None
    controller_id: int
    brokers: dict[int, Broker]
    topics: dict[str, TopicMetadata]


def image_of(response: MetadataResponse) -> ClusterImage:
    """Make the image from the wire message."""
    brokers = {
        broker.node_id: Broker(broker.node_id, Address(broker.host, broker.port), broker.rack)
        for broker in response.brokers
    }
    topics = {topic.name or "": _topic_of(topic) for topic in response.topics}
    return ClusterImage(response.cluster_id, response.controller_id, brokers, topics)


def _topic_of(topic: MetadataResponseTopic) -> TopicMetadata:
    partitions = [
        PartitionMetadata(
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
    return TopicMetadata(
        topic.name or "", topic.error_code, topic.is_internal, partitions, topic.topic_id
    )


def partitions_of(topics: Mapping[str, TopicMetadata]) -> dict[TopicPartition, PartitionMetadata]:
    """All partitions by their names, in order."""
    return {
        TopicPartition(name, each.partition): each
        for name, topic in sorted(topics.items())
        for each in topic.partitions
    }


def newer(known: TopicMetadata | None, told: TopicMetadata) -> TopicMetadata:
    """What to believe of a topic when a broker tells something that may be old.

    A broker that is cut off from the others goes on returning the leaders that it last knew.
    Leader epochs only grow, so a partition that is known from a later one stays as it is; a topic
    with another id is another topic.
    """
    if (
        known is None
        or known.topic_id != told.topic_id
        or told.topic_id == ZERO_UUID
        or len(known.partitions) > len(told.partitions)
    ):
        return told
    behind = len(known.partitions)
    merged = [
        old if old.leader_epoch > new.leader_epoch else new
        for old, new in zip(known.partitions, told.partitions[:behind], strict=True)
    ]
    return told._replace(partitions=merged + told.partitions[behind:])
