"""Descriptions of topics and groups, as `Admin` returns them."""

from dataclasses import dataclass

from barnabas.client.admin.group_members import GroupType, MemberDescription
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicMetadata, TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition and its replicas. `leader` is None without a leader; `isr` are in sync."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic with its partitions in order."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: list[PartitionDescription]

    @property
    def replication_factor(self) -> int:
        """That of the first partition; a reassignment may give others a different one."""
        return len(self.partitions[0].replicas) if self.partitions else 0

    @property
    def topic_partitions(self) -> list[TopicPartition]:
        """Its partitions, as other methods take them."""
        return [TopicPartition(self.name, each.partition) for each in self.partitions]


@dataclass(frozen=True, slots=True)
class InFlightRecords:
    """Records of a partition delivered to a share group, from its start offset on.

    `acquired` records are locked by members, `released` ones wait for another delivery, and `done`
    ones are accepted, rejected or given up, after one that is not. `deliveries` counts the acquired
    and released records that were delivered once, twice, and so on.
    """

    acquired: int
    released: int
    done: int
    deliveries: dict[int, int]


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """The progress of a group in one partition; unknown values are None.

    `committed` is the next offset to read, `end` the offset of the next record to be written,
    `member_id` the current reader, and `beginning` the log start offset.
    """

    committed: int | None
    end: int | None
    member_id: str | None
    beginning: int | None = None
    told_lag: int | None = None
    """The lag that the coordinator of a share group reports."""
    in_flight: InFlightRecords | None = None
    """Of a share group; None if the broker does not report it, as Kafka's do not."""

    @property
    def lag(self) -> int | None:
        """The number of records left to read; all of them if nothing is committed."""
        if self.told_lag is not None:
            return self.told_lag
        reached = self.beginning if self.committed is None else self.committed
        if reached is None or self.end is None:
            return None
        return max(0, self.end - max(reached, self.beginning or 0))


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group with its members and its progress in each partition.

    `epoch` and `assignment_epoch` exist in the consumer protocol only.
    """

    group_id: str
    state: str
    protocol_type: str
    assignor: str
    members: list[MemberDescription]
    offsets: dict[TopicPartition, GroupOffset]
    group_type: GroupType = GroupType.CLASSIC
    epoch: int | None = None
    assignment_epoch: int | None = None

    @property
    def lag(self) -> int:
        """The number of records left to read in all partitions."""
        return sum(each.lag or 0 for each in self.offsets.values())


def topic_description(topic: TopicMetadata) -> TopicDescription:
    """Make the description from the metadata."""
    partitions = [
        PartitionDescription(
            each.partition,
            None if each.leader == NO_LEADER else each.leader,
            each.leader_epoch,
            each.replicas,
            each.isr,
            each.offline_replicas,
        )
        for each in topic.partitions
    ]
    return TopicDescription(topic.name, topic.topic_id, topic.is_internal, partitions)
