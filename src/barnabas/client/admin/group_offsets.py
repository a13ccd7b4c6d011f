"""How far a group is, whatever its type: next to the ends of the logs, read and set.

Of many groups, what they have committed is read with one request for each coordinator and a hundred
groups.
"""

from asyncio import gather
from collections import defaultdict
from collections.abc import Iterable, Mapping

from barnabas.client.admin.batches import in_batches
from barnabas.client.admin.descriptions import GroupOffset
from barnabas.client.admin.group_members import GroupMembers, GroupType
from barnabas.client.admin.groups import GroupListing, describe_group
from barnabas.client.admin.share_groups import set_share_group_offsets, share_group_offsets
from barnabas.client.admin.share_in_flight import share_in_flight
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.client.group.committed_offsets import (
    commit_offsets,
    fetch_committed,
    fetch_committed_of_groups,
)
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.errors import BarnabasError, UnknownGroup

_AT_ONCE = 100
_OLD_AT_ONCE = 16

Committed = dict[TopicPartition, int]


async def describe_offsets(
    cluster: ClusterClient, group: GroupMembers
) -> dict[TopicPartition, GroupOffset]:
    """All partitions of the topics that a group has committed or reads.

    Those without a commit are included: all their records are lag. So are partitions that no
    longer exist, or have no leader; their ends are not known. Nor are there ends to compare with
    where a mirror has committed: its offsets are those of another cluster.
    """
    is_share = group.group_type is GroupType.SHARE
    shared = await share_group_offsets(cluster, group.group_id) if is_share else {}
    committed = {} if is_share else await fetch_committed(cluster, group.group_id)
    readers = (
        {}
        if is_share  # each partition has many
        else {each: member.member_id for member in group.members for each in member.partitions}
    )
    topics = await cluster.refresh({each.topic for each in (*committed, *readers, *shared)})
    leaders = {
        TopicPartition(name, each.partition): each.leader
        for name, topic in topics.items()
        for each in topic.partitions
    }
    bounds = await beginning_and_end(
        cluster,
        [
            each
            for each, leader in leaders.items()
            if leader != NO_LEADER and not is_of_mirror(group.group_id)
        ],
    )
    in_flight = await share_in_flight(
        cluster, group.group_id, {each: leaders[each] for each in shared if each in bounds}
    )
    offsets = {}
    for each in sorted(shared or {*committed, *readers, *leaders}):
        beginning, end = bounds.get(each, (None, None))
        if is_share:
            start, lag = shared[each].committed, shared[each].told_lag
            offsets[each] = GroupOffset(start, end, None, beginning, lag, in_flight.get(each))
        else:
            offsets[each] = GroupOffset(committed.get(each), end, readers.get(each), beginning)
    return offsets


async def group_offsets(cluster: ClusterClient, group_id: str) -> dict[TopicPartition, int]:
    """What a group has committed, or where a share group starts."""
    if await _is_share(cluster, group_id):
        found = await share_group_offsets(cluster, group_id)
        return {name: each.committed for name, each in found.items() if each.committed is not None}
    return await fetch_committed(cluster, group_id)


async def set_group_offsets(
    cluster: ClusterClient, group_id: str, offsets: Mapping[TopicPartition, int]
) -> None:
    """Move a group that has no members."""
    if await _is_share(cluster, group_id):
        await set_share_group_offsets(cluster, group_id, offsets)
    else:
        await commit_offsets(cluster, group_id, offsets)


async def _is_share(cluster: ClusterClient, group_id: str) -> bool:
    try:
        return (await describe_group(cluster, group_id)).group_type is GroupType.SHARE
    except UnknownGroup:
        return False


async def committed_of_groups(
    cluster: ClusterClient, listings: Iterable[GroupListing]
) -> dict[str, Committed]:
    """By group. Groups that are gone, or that this user may not see, are left out."""
    by_node: defaultdict[int, list[str]] = defaultdict(list)
    for each in listings:
        by_node[each.coordinator].append(each.group_id)

    async def ask(node_id: int, group_ids: list[str]) -> dict[str, Committed]:
        found: dict[str, Committed] = {}
        for some in in_batches(group_ids, _AT_ONCE):
            try:
                answer = await fetch_committed_of_groups(cluster, node_id, some)
            except BarnabasError:  # the coordinator is away
                answer = None
            again = (
                some if answer is None else [name for name in some if answer.get(name, ()) is None]
            )
            found |= {name: each for name, each in (answer or {}).items() if each is not None}
            found |= await _one_by_one(cluster, again)
        return found

    found: dict[str, Committed] = {}
    for answers in await gather(*(ask(*each) for each in by_node.items())):
        found |= answers
    return found


async def _one_by_one(cluster: ClusterClient, group_ids: Iterable[str]) -> dict[str, Committed]:
    async def ask(group_id: str) -> Committed | None:
        try:
            return await fetch_committed(cluster, group_id)
        except BarnabasError:
            return None

    found: dict[str, Committed] = {}
    for some in in_batches(group_ids, _OLD_AT_ONCE):
        answers = await gather(*map(ask, some))
        found |= {name: each for name, each in zip(some, answers, strict=True) if each is not None}
    return found
