"""How far all groups are, with as few questions as possible: one for each group."""

import asyncio
from collections.abc import Mapping

from barnabas.cli.cluster.doctor.facts import GroupFacts
from barnabas.client.admin.group_members import GroupType
from barnabas.client.admin.groups import GroupListing, list_groups
from barnabas.client.admin.share_groups import share_group_offsets
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, PartitionMetadata, TopicPartition
from barnabas.client.group.committed_offsets import fetch_committed
from barnabas.client.offsets.list_offsets import beginning_and_end
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
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def ask(listing: GroupListing) -> GroupFacts:
        async with at_once:
            try:
                return await _group(cluster, listing, bounds)
            except BarnabasError:  # deleted meanwhile, or not for us to see
                return GroupFacts(listing.group_id, listing.state, None, {})

    return list(await asyncio.gather(*map(ask, listings)))


async def _group(cluster: ClusterClient, listing: GroupListing, bounds: Bounds) -> GroupFacts:
    if listing.group_type is GroupType.SHARE:
        shared = await share_group_offsets(cluster, listing.group_id)
        lag = sum(each.told_lag or 0 for each in shared.values())
        return GroupFacts(listing.group_id, listing.state, lag, {})
    committed = await fetch_committed(cluster, listing.group_id)
    return of_committed(listing.group_id, listing.state, committed, bounds)


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
