"""The counters of a cluster at one moment."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.admin.group_members import GroupMembers, GroupType
from barnabas.client.admin.group_offsets import Committed, committed_of_groups
from barnabas.client.admin.groups import GroupListing, describe_group, list_groups
from barnabas.client.admin.log_directories import LogDirectory, log_directories
from barnabas.client.admin.share_groups import share_group_offsets
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, PartitionMetadata, TopicPartition
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.diagnosis.node_metrics import SETTING, NodeMetrics, scrape_address, scrape_all
from barnabas.errors import BarnabasError
from barnabas.wire.endpoint import Address

_AT_ONCE = 16


class GroupSample(NamedTuple):
    """A group and what it has committed."""

    members: GroupMembers
    committed: Mapping[TopicPartition, int]
    told_lags: Mapping[TopicPartition, int] | None = None
    """Of a share group: what its coordinator counts."""


@dataclass(frozen=True, slots=True)
class Sample:
    """All of it. `at_s` is of a clock that only goes forward."""

    at_s: float
    cluster_id: str
    addresses: Mapping[int, Address] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, PartitionMetadata] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    directories: Sequence[LogDirectory] = ()
    groups: Sequence[GroupSample] = ()
    metrics: Mapping[int, NodeMetrics] = field(default_factory=dict)


class Sampler:
    """Takes samples. Where nodes serve their metrics is asked once.

    Without `members`, groups are not described: half of the questions.
    """

    def __init__(self, cluster: ClusterClient, *, members: bool = True) -> None:
        self._cluster = cluster
        self._members = members
        self._metrics_at: dict[int, Address | None] = {}

    async def take(self) -> Sample:
        """What can't be had is left out; raises only if nobody answers at all."""
        cluster = self._cluster
        topics = await cluster.refresh(None)
        partitions = {
            TopicPartition(name, each.partition): each
            for name, topic in topics.items()
            for each in topic.partitions
        }
        addresses = {node: broker.address for node, broker in cluster.brokers.items()}
        await self._find_metrics(addresses)
        metrics, directories, groups, (ends, at_s) = await asyncio.gather(
            scrape_all({node: self._metrics_at.get(node) for node in addresses}),
            self._directories(),
            self._groups(),
            self._ends(partitions),
        )
        return Sample(
            at_s,
            cluster.cluster_id or "",
            addresses,
            partitions,
            ends,
            directories,
            groups,
            metrics,
        )

    async def _find_metrics(self, addresses: Mapping[int, Address]) -> None:
        for node in addresses.keys() - self._metrics_at.keys():
            try:
                described = await describe_configs(
                    self._cluster, ResourceType.BROKER, [str(node)], keys=[SETTING]
                )
            except BarnabasError:
                continue
            for entry in described.get(str(node), []):
                if entry.name == SETTING:
                    self._metrics_at[node] = scrape_address(addresses[node], entry.value)
            self._metrics_at.setdefault(node, None)

    async def _ends(
        self, partitions: Mapping[TopicPartition, PartitionMetadata]
    ) -> tuple[Mapping[TopicPartition, int], float]:
        led = [name for name, each in partitions.items() if each.leader != NO_LEADER]
        try:
            found = await list_offsets(self._cluster, dict.fromkeys(led, LATEST))
        except BarnabasError:
            return {}, monotonic()
        return {name: each.offset for name, each in found.items()}, monotonic()

    async def _directories(self) -> list[LogDirectory]:
        try:
            return await log_directories(self._cluster)
        except BarnabasError:
            return []

    async def _groups(self) -> list[GroupSample]:
        try:
            listings = await list_groups(self._cluster)
        except BarnabasError:
            return []
        others = [each for each in listings if each.group_type is not GroupType.SHARE]
        committed = await committed_of_groups(self._cluster, others)
        at_once = asyncio.Semaphore(_AT_ONCE)

        async def ask(listing: GroupListing) -> GroupSample | None:
            async with at_once:
                try:
                    return await self._group(listing, committed)
                except BarnabasError:  # deleted meanwhile, or not for us to see
                    return None

        return [each for each in await asyncio.gather(*map(ask, listings)) if each is not None]

    async def _group(
        self, listing: GroupListing, committed: Mapping[str, Committed]
    ) -> GroupSample | None:
        group_id, state, protocol, _, kind = listing
        if kind is not GroupType.SHARE and group_id not in committed:
            return None
        members = (
            await describe_group(self._cluster, group_id)
            if self._members
            else GroupMembers(group_id, state, protocol, "", [], kind)
        )
        if kind is not GroupType.SHARE:
            return GroupSample(members, committed[group_id])
        shared = await share_group_offsets(self._cluster, group_id)
        return GroupSample(
            members,
            {name: each.committed for name, each in shared.items() if each.committed is not None},
            {name: each.told_lag or 0 for name, each in shared.items()},
        )
