"""An attacker: an ordinary client that sends what only nodes may send.

It knows more than any attacker could: who leads what in which epoch, how far the logs are, and as
what each node is registered. So whatever it sends would be believed, if it were asked by a node.
"""

from collections.abc import Callable
from typing import Any

from barnabas.broker.net.listener import OPEN
from barnabas.broker.node import Node
from barnabas.errors import BarnabasError
from barnabas.metadata.image import CLUSTER_METADATA, PartitionImage, TopicImage
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.wire.message import Request
from barnabas.wire.messages import alter_partition, begin_quorum_epoch, fetch, vote
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Listener

_BURST = 5


class Forger:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._client: Client | None = None
        self._random = cluster.simulator.source("forger")

    def forge(self) -> None:
        """Send a few requests of one kind."""
        nodes = list(self._cluster.nodes())
        if not nodes:
            return
        if self._client is None:
            self._client = self._cluster.client("forger")
        kinds: list[Callable[[Node], tuple[int, Request[Any]] | None]] = [
            self._fetch,
            self._fetch,
            self._isr_change,
            self._heartbeat,
            self._registration,
            self._vote,
            self._leader,
        ]
        kind = self._random.choice(kinds)
        for _ in range(_BURST):
            forged = kind(self._random.choice(nodes))
            if forged is not None:
                receiver, request = forged
                host = self._cluster.machines[receiver].host
                self._cluster.simulator.say(f"forged: {type(request).__name__} to {host}")
                self._client.run(self._send(self._client, host, request))

    async def _send(self, client: Client, host: str, request: Request[Any]) -> None:
        try:
            await client.call(host, request)
        except (TryAgain, BarnabasError) as error:
            client.simulator.remark("forger: %s", error)

    # -- what it sends, and to whom ----------------------------------------------------------------

    def _partition(self, node: Node) -> tuple[TopicImage, PartitionImage] | None:
        topics = [topic for topic in node.image.topics.values() if topic.partitions]
        if not topics:
            return None
        topic = self._random.choice(topics)
        partition = self._random.choice(topic.partitions)
        return (topic, partition) if partition.leader in self._cluster.machines else None

    def _fetch(self, node: Node) -> tuple[int, Request[Any]] | None:
        """As a follower that has everything."""
        found = self._partition(node)
        if found is None:
            return None
        topic, partition = found
        leading = self._cluster.machines[partition.leader].server
        led = None if leading is None else leading.node.partitions.find(topic.name, partition.index)
        offset = getattr(getattr(led, "log", None), "log_end_offset", 0)
        follower = self._random.choice(partition.replicas)
        broker = node.image.brokers.get(follower)
        epoch = partition.leader_epoch
        asked = fetch.FetchPartition(
            partition.index, epoch, offset, epoch, partition_max_bytes=1 << 20
        )
        return partition.leader, fetch.FetchRequest(
            replica_state=fetch.ReplicaState(follower, -1 if broker is None else broker.epoch),
            max_wait_ms=0,
            topics=[fetch.FetchTopic(topic_id=topic.topic_id, partitions=[asked])],
            session_epoch=-1,
        )

    def _isr_change(self, node: Node) -> tuple[int, Request[Any]] | None:
        """As a leader that wants to be alone in sync, or to have all replicas in sync."""
        found = self._partition(node)
        if found is None or node.quorum.leader_id is None:
            return None
        topic, partition = found
        image = node.image.brokers
        if partition.leader not in image:
            return None
        members = self._random.choice(([partition.leader], partition.replicas))
        wanted = alter_partition.PartitionData(
            partition.index,
            partition.leader_epoch,
            new_isr_with_epochs=[
                alter_partition.BrokerState(each, image[each].epoch)
                for each in members
                if each in image
            ],
            partition_epoch=partition.partition_epoch,
        )
        data = alter_partition.TopicData(topic_id=topic.topic_id, partitions=[wanted])
        leader = image[partition.leader]
        return node.quorum.leader_id, alter_partition.AlterPartitionRequest(
            leader.id, leader.epoch, [data]
        )

    def _heartbeat(self, node: Node) -> tuple[int, Request[Any]] | None:
        if node.quorum.leader_id is None or not node.image.brokers:
            return None
        broker = self._random.choice(list(node.image.brokers.values()))
        return node.quorum.leader_id, BrokerHeartbeatRequest(
            broker.id, broker.epoch, node.quorum.end_offset, self._random.random() < 0.5
        )

    def _registration(self, node: Node) -> tuple[int, Request[Any]] | None:
        if node.quorum.leader_id is None or not node.image.brokers:
            return None
        broker = self._random.choice(list(node.image.brokers.values()))
        return node.quorum.leader_id, BrokerRegistrationRequest(
            broker.id,
            node.cluster_id,
            self._random.randbytes(16),
            [Listener(OPEN.name, "forger", 9092, OPEN.protocol)],
            rack=None,
            log_dirs=list(broker.log_dirs),
            previous_broker_epoch=broker.epoch,
        )

    def _epoch(self, node: Node) -> int:
        return node.quorum.epoch + self._random.choice((0, 1, 5, 1_000, 2**31 - 10_000))

    def _vote(self, node: Node) -> tuple[int, Request[Any]] | None:
        voters = node.quorum.voters.keys
        if not voters:
            return None
        candidate, voter = self._random.choice(voters), self._random.choice(voters)
        epoch = min(self._epoch(node), 2**31 - 1)
        partition = vote.PartitionData(
            0, epoch, *candidate, voter.directory_id, epoch, 2**40, self._random.random() < 0.3
        )
        topic = vote.TopicData(CLUSTER_METADATA, [partition])
        return voter.node_id, vote.VoteRequest(node.cluster_id, voter.node_id, [topic])

    def _leader(self, node: Node) -> tuple[int, Request[Any]] | None:
        voters = node.quorum.voters.keys
        if not voters:
            return None
        leader, voter = self._random.choice(voters), self._random.choice(voters)
        epoch = min(self._epoch(node), 2**31 - 1)
        partition = begin_quorum_epoch.PartitionData(0, voter.directory_id, leader.node_id, epoch)
        topic = begin_quorum_epoch.TopicData(CLUSTER_METADATA, [partition])
        return voter.node_id, begin_quorum_epoch.BeginQuorumEpochRequest(
            node.cluster_id, voter.node_id, [topic]
        )
