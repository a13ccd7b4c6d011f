"""The agreed state of the cluster, built by replaying metadata records and by nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.metadata.acls_image import AclsImage
from barnabas.metadata.broker_image import NEVER, BrokerImage
from barnabas.metadata.client_quotas_image import ClientQuotasImage
from barnabas.metadata.delegation_tokens_image import DelegationTokensImage
from barnabas.metadata.features import FeaturesImage
from barnabas.metadata.partition_image import PartitionImage
from barnabas.metadata.records import MetadataRecord, SecurityRecord
from barnabas.metadata.scram_image import ScramImage
from barnabas.wire.messages.metadata_records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)

__all__ = [
    "BROKER_RESOURCE",
    "CLIENT_METRICS_RESOURCE",
    "CLUSTER_METADATA",
    "CONSUMER_OFFSETS",
    "GROUP_RESOURCE",
    "INTERNAL_TOPICS",
    "RESERVED_NAMES",
    "SHARE_GROUP_STATE",
    "TOPIC_RESOURCE",
    "TRANSACTION_STATE",
    "BrokerImage",
    "MetadataImage",
    "PartitionImage",
    "TopicImage",
]

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})
CLUSTER_METADATA = "__cluster_metadata"
"""Not a topic, but its log lies where the log of such a topic would."""
RESERVED_NAMES = INTERNAL_TOPICS | {CLUSTER_METADATA}

_NO_BROKER = -1


@dataclass(slots=True)
class TopicImage:
    """One topic and its partitions, by index."""

    name: str
    topic_id: bytes
    partitions: list[PartitionImage] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


@dataclass(slots=True)
class MetadataImage:
    """Brokers, topics by name and by id, configs by resource, the next free numbers, users, access
    rules, quotas, delegation tokens, levels of features."""

    brokers: dict[int, BrokerImage] = field(default_factory=dict)
    topics: dict[str, TopicImage] = field(default_factory=dict)
    topics_by_id: dict[bytes, TopicImage] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    next_producer_id: int = 0
    next_broker_epoch: int = 0
    scram: ScramImage = field(default_factory=ScramImage)
    acls: AclsImage = field(default_factory=AclsImage)
    client_quotas: ClientQuotasImage = field(default_factory=ClientQuotasImage)
    delegation_tokens: DelegationTokensImage = field(default_factory=DelegationTokensImage)
    features: FeaturesImage = field(default_factory=FeaturesImage)

    def replay(self, record: MetadataRecord) -> None:
        """Take in one agreed change."""
        match record:
            case PartitionChangeRecord():
                partitions = self.topics_by_id[record.topic_id].partitions
                index = record.partition_id
                partitions[index] = partitions[index].changed(record)
            case PartitionRecord():
                self._replay_partition(record)
            case TopicRecord():
                topic = TopicImage(record.name, record.topic_id)
                self.topics[record.name] = topic
                self.topics_by_id[record.topic_id] = topic
            case ConfigRecord():
                self._replay_config(record)
            case RemoveTopicRecord():
                removed = self.topics_by_id.pop(record.topic_id)
                del self.topics[removed.name]
                self.configs.pop((TOPIC_RESOURCE, removed.name), None)
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case RegisterBrokerRecord():
                before = self.brokers.get(record.broker_id)
                self.brokers[record.broker_id] = BrokerImage.registered(record, before)
                self._seen_broker_epoch(record.broker_epoch)
            case BrokerRegistrationChangeRecord():
                self.brokers[record.broker_id] = self.brokers[record.broker_id].changed(record)
            case UnregisterBrokerRecord():
                self.brokers.pop(record.broker_id, None)
                self._seen_broker_epoch(record.broker_epoch)
            case FeatureLevelRecord():
                self.features.replay(record)
            case NoOpRecord():
                pass
            case _:
                self._replay_security(record)

    def _replay_security(self, record: SecurityRecord) -> None:
        match record:
            case UserScramCredentialRecord() | RemoveUserScramCredentialRecord():
                self.scram.replay(record)
            case AccessControlEntryRecord() | RemoveAccessControlEntryRecord():
                self.acls.replay(record)
            case ClientQuotaRecord():
                self.client_quotas.replay(record)
            case DelegationTokenRecord() | RemoveDelegationTokenRecord():
                self.delegation_tokens.replay(record)

    def _replay_partition(self, record: PartitionRecord) -> None:
        partition = PartitionImage.recorded(record)
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

    def _seen_broker_epoch(self, epoch: int) -> None:
        self.next_broker_epoch = max(self.next_broker_epoch, epoch + 1)

    # -- the whole -------------------------------------------------------------------------------

    def restore(self, records: Iterable[MetadataRecord]) -> None:
        """Become what `records`, those of a snapshot, build."""
        self.brokers.clear()
        self.topics.clear()
        self.topics_by_id.clear()
        self.configs.clear()
        self.acls.clear()
        self.client_quotas.clear()
        self.delegation_tokens.clear()
        self.features.clear()
        self.next_producer_id = self.next_broker_epoch = 0
        self.scram.clear()
        for record in records:
            self.replay(record)

    def snapshot(self) -> list[MetadataRecord]:
        """Records that build an equal image out of nothing."""
        # First, as in Kafka: how the others are read may depend on a level.
        records: list[MetadataRecord] = list(self.features.records())
        if self.next_broker_epoch:
            # The newest registration may be one that is gone: its number must not come again.
            records.append(UnregisterBrokerRecord(_NO_BROKER, self.next_broker_epoch - 1))
        for broker in self.brokers.values():
            records += broker.records()
        for topic in self.topics.values():
            records.append(TopicRecord(topic.name, topic.topic_id))
            records += (partition.record(topic.topic_id) for partition in topic.partitions)
        for (resource_type, resource_name), values in self.configs.items():
            records += (
                ConfigRecord(resource_type, resource_name, name, value)
                for name, value in values.items()
            )
        if self.next_producer_id:
            records.append(ProducerIdsRecord(_NO_BROKER, next_producer_id=self.next_producer_id))
        records += self.scram.records()
        records += self.acls.records()
        records += self.client_quotas.records()
        records += self.delegation_tokens.records()
        return records

    def copy(self) -> "MetadataImage":
        """An equal image, of which changes do not show here; partitions and brokers are values."""
        topics = {
            name: TopicImage(name, topic.topic_id, topic.partitions.copy())
            for name, topic in self.topics.items()
        }
        return MetadataImage(
            self.brokers.copy(),
            topics,
            {topic.topic_id: topic for topic in topics.values()},
            {resource: values.copy() for resource, values in self.configs.items()},
            self.next_producer_id,
            self.next_broker_epoch,
            self.scram.copy(),
            self.acls.copy(),
            self.client_quotas.copy(),
            self.delegation_tokens.copy(),
            self.features.copy(),
        )

    # -- reading ---------------------------------------------------------------------------------

    def partition(self, topic_id: bytes, index: int) -> PartitionImage | None:
        """One partition, if it is there."""
        topic = self.topics_by_id.get(topic_id)
        if topic is None or not 0 <= index < len(topic.partitions):
            return None
        return topic.partitions[index]

    def is_active(self, broker_id: int) -> bool:
        """Whether a broker may lead, be in sync, and be given replicas."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def was_unfenced(self, broker_id: int) -> bool:
        """Whether a broker has been unfenced, under this registration or an earlier one."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.active_epoch != NEVER

    def topic_configs(self, name: str) -> dict[str, str]:
        """What was set for one topic; everything else is a default."""
        return self.configs.get((TOPIC_RESOURCE, name), {})

    def group_configs(self, group_id: str) -> dict[str, str]:
        """What was set for one group; everything else is a default."""
        return self.configs.get((GROUP_RESOURCE, group_id), {})

    def client_metrics(self) -> dict[str, dict[str, str]]:
        """The settings of subscriptions to client metrics, by name."""
        return {
            name: values
            for (kind, name), values in self.configs.items()
            if kind == CLIENT_METRICS_RESOURCE
        }

    def broker_configs(self, node_id: int) -> dict[str, str]:
        """What was set while running for all brokers, and over that for one."""
        return {
            **self.configs.get((BROKER_RESOURCE, ""), {}),
            **self.configs.get((BROKER_RESOURCE, str(node_id)), {}),
        }
