"""DeleteGroups, versions 0-2: only groups without members.

With a share group the states of its partitions are deleted too, first.
"""

from asyncio import Future, gather, sleep
from collections import defaultdict
from typing import Any, Protocol

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.coordinator.group_coordinator_shard import GroupCoordinatorShard
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import SLICE
from barnabas.broker.share.group_states import GroupStates
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

_MANY = 100
"""Groups of one shard: deciding more takes milliseconds, and a request may be for all shards."""


class Needs(Protocol):
    """What this handler asks of the node."""

    groups: GroupCoordinator
    share_group_states: GroupStates


async def handle(
    node: Needs, request: DeleteGroupsRequest, _: RequestContext
) -> DeleteGroupsResponse:
    results: list[DeletableGroupResult] = []
    by_shard: defaultdict[GroupCoordinatorShard, list[str]] = defaultdict(list)
    for count, group_id in enumerate(request.groups_names, 1):
        if not count % SLICE:
            await sleep(0)
        shard = node.groups.find(group_id)
        if isinstance(shard, ErrorCode):
            results.append(DeletableGroupResult(group_id, shard))
        elif shard.groups.share.is_share_group(group_id):
            results += await _delete_share_group(node, shard, group_id)
        else:
            by_shard[shard].append(group_id)
    decided: list[Future[Any]] = []
    for shard, ids in by_shard.items():
        decided.append(_delete(shard, ids))
        if len(ids) > _MANY:
            await sleep(0)
    responses: list[DeleteGroupsResponse] = await gather(*decided)
    return DeleteGroupsResponse(
        results=results + [result for response in responses for result in response.results]
    )


async def _delete_share_group(
    node: Needs, shard: GroupCoordinatorShard, group_id: str
) -> list[DeletableGroupResult]:
    async with node.share_group_states.turn(group_id):
        error = shard.groups.share.check_empty(group_id)
        error = error or await node.share_group_states.delete(group_id)
        if error:
            return [DeletableGroupResult(group_id, error)]
        response: DeleteGroupsResponse = await _delete(shard, [group_id])
        return response.results


def _delete(shard: GroupCoordinatorShard, group_ids: list[str]) -> "Future[Any]":
    return shard.decide(lambda token: shard.groups.delete_groups(group_ids, token=token))
