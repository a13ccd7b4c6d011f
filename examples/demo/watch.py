"""What the cluster itself says: who is up, who leads what, who is in sync."""

from collections import Counter
from dataclasses import dataclass, field

from barnabas.client.admin.brokers import describe_cluster
from barnabas.client.admin.quorum import describe_quorum
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER


@dataclass(slots=True)
class ClusterView:
    """The nodes, and the partitions of one topic."""

    up: dict[int, bool] = field(default_factory=dict)
    controller: int = -1
    leaders: dict[int, int] = field(default_factory=dict)
    in_sync: dict[int, list[int]] = field(default_factory=dict)
    replicas: dict[int, list[int]] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Every node is there, every partition is led, every replica is in sync."""
        return (
            all(self.up.values())
            and NO_LEADER not in self.leaders.values()
            and all(len(self.in_sync[each]) == len(self.replicas[each]) for each in self.leaders)
        )

    def led_by(self, node_id: int) -> int:
        return Counter(self.leaders.values())[node_id]

    def synced_by(self, node_id: int) -> int:
        return sum(node_id in nodes for nodes in self.in_sync.values())


async def look_at_cluster(cluster: ClusterClient, topic: str) -> ClusterView:
    described = await describe_cluster(cluster)
    quorum = await describe_quorum(cluster)
    partitions = (await cluster.refresh([topic]))[topic].partitions
    return ClusterView(
        {broker.node_id: not broker.fenced for broker in described.brokers},
        quorum.leader_id,
        {each.partition: each.leader for each in partitions},
        {each.partition: sorted(each.isr) for each in partitions},
        {each.partition: each.replicas for each in partitions},
    )
