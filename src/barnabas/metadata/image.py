"""The agreed state of the cluster, built by replaying metadata records and by nothing else."""

from dataclasses import dataclass, field

from barnabas.metadata.records import MetadataRecord
from barnabas.wire.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4

CONSUMER_OFFSETS = "__consumer_offsets"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS})
CLUSTER_METADATA = "__cluster_metadata"
"""Not a topic, but its log lies where the log of such a topic would."""
RESERVED_NAMES = INTERNAL_TOPICS | {CLUSTER_METADATA}


@dataclass(slots=True)
class PartitionImage:
    """One partition: who keeps it, who leads it."""

    index: int
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    partition_epoch: int


@dataclass(slots=True)
class TopicImage:
    """One topic and its partitions, by index."""

    name: str
    topic_id: bytes
    partitions: list[PartitionImage] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class MetadataImage:
    """Topics by name and by id, configs by resource, and the next producer id."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicImage] = {}
        self.topics_by_id: dict[bytes, TopicImage] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.next_producer_id = 0

    def replay(self, record: MetadataRecord) -> None:
        """Take in one agreed change."""
        match record:
            case TopicRecord():
                topic = TopicImage(record.name, record.topic_id)
                self.topics[record.name] = topic
                self.topics_by_id[record.topic_id] = topic
            case PartitionRecord():
                self._replay_partition(record)
            case ConfigRecord():
                self._replay_config(record)
            case RemoveTopicRecord():
                removed = self.topics_by_id.pop(record.topic_id)
                del self.topics[removed.name]
                self.configs.pop((TOPIC_RESOURCE, removed.name), None)
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id

    def _replay_partition(self, record: PartitionRecord) -> None:
        partition = PartitionImage(
            record.partition_id,
            record.replicas,
            record.isr,
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
        )
        partitions = self.topics_by_id[record.topic_id].partitions
        if record.partition_id == len(partitions):
            partitions.append(partition)
        else:
            partitions[record.partition_id] = partition

    def _replay_config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        if record.value is not None:
            self.configs.setdefault(resource, {})[record.name] = record.value
            return
        values = self.configs.get(resource, {})
        values.pop(record.name, None)
        if not values:
            self.configs.pop(resource, None)

    def topic_configs(self, name: str) -> dict[str, str]:
        """What was set for one topic; everything else is a default."""
        return self.configs.get((TOPIC_RESOURCE, name), {})

    def broker_configs(self, node_id: int) -> dict[str, str]:
        """What was set while running for all brokers, and over that for one."""
        return {
            **self.configs.get((BROKER_RESOURCE, ""), {}),
            **self.configs.get((BROKER_RESOURCE, str(node_id)), {}),
        }
