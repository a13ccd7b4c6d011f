"""What the broker itself says: how long each partition is, and who reads what."""

from dataclasses import dataclass, field

from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.client.group_offsets import fetch_committed
from barnabas.client.groups import describe_group
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import LATEST, list_offsets


@dataclass(slots=True)
class Snapshot:
    """The state of things at one moment."""

    ends: dict[int, int] = field(default_factory=dict)
    """Per partition the offset that the next record will get."""
    owners: dict[str, dict[int, str]] = field(default_factory=dict)
    """Per group and partition the client id of the member that has it."""
    states: dict[str, str] = field(default_factory=dict)


async def take_snapshot(cluster: Cluster, topic: str, count: int, groups: list[str]) -> Snapshot:
    """Ask the broker."""
    snapshot = Snapshot()
    partitions = [TopicPartition(topic, number) for number in range(count)]
    found = await list_offsets(cluster, dict.fromkeys(partitions, LATEST))
    snapshot.ends = {each.partition: found[each].offset for each in partitions}
    for group in groups:
        try:
            described = await describe_group(cluster, group)
        except BrokerError:
            continue  # nobody has joined yet
        snapshot.states[group] = described.state
        snapshot.owners[group] = {
            partition: member.client_id
            for member in described.members
            for _, partition in member.partitions
        }
    return snapshot


async def committed_lag(cluster: Cluster, topic: str, group: str, ends: dict[int, int]) -> int:
    """How many records lie behind what the group has committed."""
    committed = await fetch_committed(cluster, group)
    return sum(
        max(0, end - committed.get(TopicPartition(topic, partition), 0))
        for partition, end in ends.items()
    )
