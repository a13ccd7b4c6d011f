"""Records that a share group has in flight, asked of the leaders of its partitions.

Kafka's protocol has no such request. Ours is DescribeShareGroupOffsets with a field that other
brokers skip: they answer as coordinator, or that they are not the coordinator.
"""

from collections import defaultdict
from collections.abc import Mapping

from barnabas.client.admin.descriptions import InFlightRecords
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)


async def share_in_flight(
    cluster: ClusterClient, group_id: str, leaders: Mapping[TopicPartition, int]
) -> dict[TopicPartition, InFlightRecords]:
    """Of the partitions whose leaders tell it. One that moves meanwhile is left out."""
    found: dict[TopicPartition, InFlightRecords] = {}
    by_leader: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for name, leader in leaders.items():
        by_leader[leader].append(name)
    for leader, names in by_leader.items():
        found.update(await _ask(cluster, group_id, leader, names))
    return found


async def _ask(
    cluster: ClusterClient, group_id: str, leader: int, names: list[TopicPartition]
) -> dict[TopicPartition, InFlightRecords]:
    indexes: defaultdict[str, list[int]] = defaultdict(list)
    for topic, index in names:
        indexes[topic].append(index)
    topics = [DescribeShareGroupOffsetsRequestTopic(*each) for each in indexes.items()]
    request = DescribeShareGroupOffsetsRequest(
        [DescribeShareGroupOffsetsRequestGroup(group_id, topics)], of_leader=True
    )
    connection = await cluster.connection(leader)
    response = await connection.send(request, timeout_ms=cluster.request_timeout_ms)
    return {
        TopicPartition(topic.topic_name, each.partition_index): InFlightRecords(
            each.in_flight.acquired,
            each.in_flight.released,
            each.in_flight.done,
            {count.delivery_count: count.record_count for count in each.in_flight.deliveries},
        )
        for group in response.groups
        for topic in group.topics
        for each in topic.partitions
        if each.in_flight is not None
    }
