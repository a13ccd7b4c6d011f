"""How far groups are behind, in one row for each topic."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.client.admin.group_offsets import describe_offsets
from barnabas.client.admin.groups import describe_group, list_groups
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.errors import UnknownGroup


class TopicLag(NamedTuple):
    """Of a group in one topic; `behind` counts the partitions that it has not read to their end.

    Both are None for groups of mirrors, which read nothing here.
    """

    group: str
    topic: str
    behind: int | None
    lag: int | None


async def lag_by_topic(cluster: ClusterClient, groups: Sequence[str] | None) -> list[TopicLag]:
    """Of these groups, or of all. One that is deleted meanwhile is left out of all."""
    rows = []
    for group_id in await _ids(cluster) if groups is None else groups:
        try:
            offsets = await describe_offsets(cluster, await describe_group(cluster, group_id))
        except UnknownGroup:
            if groups is not None:
                raise
            continue
        by_topic: defaultdict[str, list[int]] = defaultdict(list)
        for partition, offset in offsets.items():
            by_topic[partition.topic].append(offset.lag or 0)
        rows += [
            TopicLag(group_id, topic, None, None)
            if is_of_mirror(group_id)
            else TopicLag(group_id, topic, sum(map(bool, lags)), sum(lags))
            for topic, lags in sorted(by_topic.items())
        ]
    return rows


async def _ids(cluster: ClusterClient) -> list[str]:
    return [each.group_id for each in await list_groups(cluster)]
