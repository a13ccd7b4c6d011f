"""Committed offsets of many groups, with one request for each coordinator and a hundred groups."""

from asyncio import gather
from collections import defaultdict
from collections.abc import Iterable

from barnabas.client.admin.batches import in_batches
from barnabas.client.admin.groups import GroupListing
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import fetch_committed, fetch_committed_of_groups
from barnabas.errors import BarnabasError

_AT_ONCE = 100
_OLD_AT_ONCE = 16

Committed = dict[TopicPartition, int]


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
