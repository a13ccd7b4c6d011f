"""How far a group is: its committed offsets next to the ends of the logs."""

from barnabas.client.admin.descriptions import GroupOffset
from barnabas.client.admin.groups import GroupMembers
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.client.group.committed_offsets import fetch_committed
from barnabas.client.offsets.list_offsets import beginning_and_end


async def describe_offsets(
    cluster: ClusterClient, group: GroupMembers
) -> dict[TopicPartition, GroupOffset]:
    """All partitions of the topics that a group has committed or reads.

    Those without a commit are included: all their records are lag. So are partitions that no
    longer exist, or have no leader; their ends are not known.
    """
    committed = await fetch_committed(cluster, group.group_id)
    readers = {each: member.member_id for member in group.members for each in member.partitions}
    topics = await cluster.refresh({each.topic for each in (*committed, *readers)})
    leaders = {
        TopicPartition(name, each.partition): each.leader
        for name, topic in topics.items()
        for each in topic.partitions
    }
    bounds = await beginning_and_end(
        cluster, [each for each, leader in leaders.items() if leader != NO_LEADER]
    )
    offsets = {}
    for each in sorted({*committed, *readers, *leaders}):
        beginning, end = bounds.get(each, (None, None))
        offsets[each] = GroupOffset(committed.get(each), end, readers.get(each), beginning)
    return offsets
