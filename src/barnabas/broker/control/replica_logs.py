"""Asks replicas for their log ends, before an unclean election of one of them.

It uses ListOffsets with replica id -2, as Kafka's tools do to inspect any replica: followers answer
it too, and so do replicas of partitions without a leader.
"""

from asyncio import AbstractEventLoop, Future, gather
from collections import defaultdict

from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.broker.replica.partitions import Partitions
from barnabas.controller.replica_ends import ReplicaEnd, ReplicaEnds
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LANE = "recovery"
_TIMEOUT_MS = 1_500
_ANY_REPLICA = -2
_LATEST = -1

Asked = list[tuple[TopicImage, PartitionImage]]


class ReplicaLogs:
    """Requests log ends from all nodes."""

    def __init__(
        self, loop: AbstractEventLoop, node_id: int, peers: Peers, partitions: Partitions
    ) -> None:
        self._loop = loop
        self._node_id = node_id
        self._peers = peers
        self._partitions = partitions

    async def ends(self, image: MetadataImage, asked: Asked) -> ReplicaEnds:
        """The log end of each replica; those that do not answer in time are left out."""
        by_broker: defaultdict[int, Asked] = defaultdict(list)
        found: dict[tuple[bytes, int], dict[int, ReplicaEnd]] = {}
        for topic, partition in asked:
            found[topic.topic_id, partition.index] = {}
            for replica in partition.replicas:
                if image.is_active(replica):
                    by_broker[replica].append((topic, partition))
        for topic, partition in by_broker.pop(self._node_id, []):
            own = self._partitions.get(topic.name, partition.index)
            if own is not None and own.topic_id == topic.topic_id:
                found[topic.topic_id, partition.index][self._node_id] = ReplicaEnd(*own.log_end)
        calls = [self._ask(broker_id, wanted) for broker_id, wanted in by_broker.items()]
        answers = await gather(*calls, return_exceptions=True)
        for (broker_id, wanted), answer in zip(by_broker.items(), answers, strict=True):
            if isinstance(answer, PeerUnavailable):
                continue
            if isinstance(answer, BaseException):
                raise answer
            ids = {topic.name: topic.topic_id for topic, _ in wanted}
            for result in answer.topics:
                for data in result.partitions:
                    if data.error_code == ErrorCode.NONE:
                        end = ReplicaEnd(data.leader_epoch, data.offset)
                        found[ids[result.name], data.partition_index][broker_id] = end
        return found

    def _ask(self, broker_id: int, wanted: Asked) -> "Future[ListOffsetsResponse]":
        topics: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for topic, partition in wanted:
            topics[topic.name].append(ListOffsetsPartition(partition.index, -1, _LATEST))
        request = ListOffsetsRequest(
            _ANY_REPLICA, 0, [ListOffsetsTopic(name, data) for name, data in topics.items()]
        )
        return self._peers.call(
            broker_id, request, request.MAX_VERSION, timeout_ms=_TIMEOUT_MS, lane=LANE
        )
