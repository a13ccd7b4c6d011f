"""Share groups (KIP-932), described; where they are in their partitions, and how that is set.

A share group commits no offsets. It has a start offset in each partition, before which every record
is done with, and a lag: records from there on that are not done with.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping

from barnabas.client.admin.descriptions import GroupOffset
from barnabas.client.admin.group_members import GroupMembers, GroupType, MemberDescription
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.member_id import new_member_id
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from barnabas.wire.messages.share_group_describe import Member, ShareGroupDescribeRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

_SHARE = "share"
_JOIN, _LEAVE = 0, -1
"""Epochs of a member that say so."""


async def describe_share_group(connection: BrokerConnection, group_id: str) -> GroupMembers:
    """Raises `UnknownGroup` if there is none of this type."""
    response = await connection.send(ShareGroupDescribeRequest(group_ids=[group_id]))
    (group,) = response.groups
    check(group.error_code, f"group {group_id}", group.error_message, needs="describe")
    return GroupMembers(
        group_id,
        group.group_state,
        _SHARE,
        group.assignor_name,
        sorted(map(_member_of, group.members)),
        GroupType.SHARE,
        group.group_epoch,
        group.assignment_epoch,
    )


def _member_of(member: Member) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        None,
        member.client_id,
        member.client_host,
        sorted(
            TopicPartition(topic.topic_name, partition)
            for topic in member.assignment.topic_partitions
            for partition in topic.partitions
        ),
        member.member_epoch,
        topics=sorted(member.subscribed_topic_names),
        rack=member.rack_id or None,
        protocol=GroupType.SHARE,
    )


async def share_group_offsets(
    cluster: ClusterClient, group_id: str
) -> dict[TopicPartition, GroupOffset]:
    """The start offset and the lag of all partitions that the group has a state for."""
    request = DescribeShareGroupOffsetsRequest(
        groups=[DescribeShareGroupOffsetsRequestGroup(group_id, None)]
    )

    async def attempt() -> dict[TopicPartition, GroupOffset]:
        response = await (await cluster.coordinator(group_id)).send(request)
        (group,) = response.groups
        check(group.error_code, f"group {group_id}", group.error_message, needs="describe")
        found = {}
        for topic in group.topics:
            for each in topic.partitions:
                name = TopicPartition(topic.topic_name, each.partition_index)
                what = f"group {group_id}, partition {name}"
                check(each.error_code, what, each.error_message)
                start = None if each.start_offset < 0 else each.start_offset
                lag = None if each.lag < 0 else each.lag
                found[name] = GroupOffset(start, None, None, told_lag=lag)
        return dict(sorted(found.items()))

    return await cluster.retrying(attempt)


async def create_share_group(
    cluster: ClusterClient, group_id: str, topics: Collection[str]
) -> None:
    """Let a member join and leave: no other request creates a group, or lets it know its topics."""
    member_id = new_member_id(cluster.environment.random)

    async def heartbeat(member_epoch: int) -> None:
        request = ShareGroupHeartbeatRequest(
            group_id, member_id, member_epoch, subscribed_topic_names=sorted(topics)
        )

        async def attempt() -> None:
            response = await (await cluster.coordinator(group_id)).send(request)
            check(response.error_code, f"group {group_id}", response.error_message)

        await cluster.retrying(attempt)

    await heartbeat(_JOIN)
    await heartbeat(_LEAVE)


async def set_share_group_offsets(
    cluster: ClusterClient, group_id: str, offsets: Mapping[TopicPartition, int]
) -> None:
    """Move the start offsets of a group without members; what was in flight is forgotten."""
    topics: defaultdict[str, list[AlterShareGroupOffsetsRequestPartition]] = defaultdict(list)
    for name, offset in offsets.items():
        topics[name.topic].append(AlterShareGroupOffsetsRequestPartition(name.partition, offset))
    request = AlterShareGroupOffsetsRequest(
        group_id, [AlterShareGroupOffsetsRequestTopic(*each) for each in topics.items()]
    )

    async def attempt() -> None:
        response = await (await cluster.coordinator(group_id)).send(request)
        check(response.error_code, f"group {group_id}", response.error_message)
        for topic in response.responses:
            for each in topic.partitions:
                what = f"group {group_id}, partition {topic.topic_name}-{each.partition_index}"
                check(each.error_code, what, each.error_message)

    await cluster.retrying(attempt)
