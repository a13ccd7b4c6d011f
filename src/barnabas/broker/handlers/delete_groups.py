"""DeleteGroups, versions 0-2: only groups without members."""

from asyncio import Future, gather
from collections import defaultdict
from typing import Any

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.group_coordinator import GroupCoordinator, Shard
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


def handle(
    node: Node, request: DeleteGroupsRequest, _: RequestContext
) -> "DeleteGroupsResponse | Future[Any]":
    try:
        groups = node.ensure_groups()
    except StorageError:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
                for group_id in request.groups_names
            ]
        )
    by_shard: defaultdict[Shard, list[str]] = defaultdict(list)
    for group_id in request.groups_names:
        by_shard[groups.shard(group_id)].append(group_id)
    decided = [_delete(groups, shard, ids) for shard, ids in by_shard.items()]
    return node.loop.create_task(_merged(decided))


def _delete(groups: GroupCoordinator, shard: Shard, group_ids: list[str]) -> "Future[Any]":
    return groups.decide(shard, lambda token: shard.groups.delete_groups(group_ids, token=token))


async def _merged(decided: "list[Future[Any]]") -> DeleteGroupsResponse:
    responses: list[DeleteGroupsResponse] = await gather(*decided)
    return DeleteGroupsResponse(
        results=[result for response in responses for result in response.results]
    )
