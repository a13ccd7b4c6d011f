"""How far all groups are, with as few questions as possible."""

import asyncio
from collections.abc import Mapping

from barnabas.client.admin.group_members import GroupType
from barnabas.client.admin.group_offsets import committed_of_groups
from barnabas.client.admin.groups import GroupListing, list_groups
from barnabas.client.admin.share_groups import share_group_offsets
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, PartitionMetadata, TopicPartition
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.diagnosis.facts import GroupFacts
from barnabas.errors import BarnabasError

_AT_ONCE = 16

Bounds = Mapping[TopicPartition, tuple[int, int]]


async def group_facts(
    cluster: ClusterClient, partitions: Mapping[TopicPartition, PartitionMetadata]
) -> list[GroupFacts]:
    """All groups. The ends of logs are asked for once, whoever reads them."""
    listings = await list_groups(cluster)
    if not listings:
        return []
    led = [name for name, each in partitions.items() if each.leader != NO_LEADER]
    bounds = await beginning_and_end(cluster, led)
    others = [
        each
        for each in listings
        if each.group_type is not GroupType.SHARE and not is_of_mirror(each.group_id)
    ]
    committed = await committed_of_groups(cluster, others)
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def ask(listing: GroupListing) -> GroupFacts:
        if is_of_mirror(listing.group_id):
            return GroupFacts(listing.group_id, listing.state, None, {})
        if listing.group_id in committed:
            offsets = committed[listing.group_id]
            return of_committed(listing.group_id, listing.state, offsets, bounds)
        if listing.group_type is GroupType.SHARE:
            async with at_once:
                try:
                    return await _share_group(cluster, listing)
                except BarnabasError:  # deleted meanwhile, or not for us to see
                    pass
        return GroupFacts(listing.group_id, listing.state, None, {})

    return list(await asyncio.gather(*map(ask, listings)))


async def _share_group(cluster: ClusterClient, listing: GroupListing) -> GroupFacts:
    shared = await share_group_offsets(cluster, listing.group_id)
    lag = sum(each.told_lag or 0 for each in shared.values())
    return GroupFacts(listing.group_id, listing.state, lag, {})


def of_committed(
    group_id: str, state: str, committed: Mapping[TopicPartition, int], bounds: Bounds
) -> GroupFacts:
    """Compare what is committed with where logs begin and end."""
    lag = 0
    deleted = {}
    for partition, offset in committed.items():
        if partition not in bounds:
            continue
        beginning, end = bounds[partition]
        lag += max(0, end - max(offset, beginning))
        if offset < beginning:
            deleted[partition] = beginning - offset
    return GroupFacts(group_id, state, lag, deleted)
