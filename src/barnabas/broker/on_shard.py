"""How handlers of group APIs reach the group's shard."""

from asyncio import Future
from collections.abc import Callable
from typing import Any, TypeVar

from barnabas.broker.node import Node
from barnabas.groups import Decision, GroupShard
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response

ResponseT = TypeVar("ResponseT", bound=Response)


def decided_by_shard(
    node: Node,
    group_id: str,
    failed: Callable[[ErrorCode], ResponseT],
    decide: Callable[[GroupShard, object, int], Decision],
) -> "ResponseT | Future[Any]":
    """Have the group's shard decide, given a token and the time, and answer when it says so.

    `failed` makes the response for when groups can't be served at all.
    """
    try:
        groups = node.ensure_groups()
    except StorageError:
        return failed(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    shard = groups.shard(group_id)
    return groups.decide(shard, lambda token: decide(shard.groups, token, groups.now_ms()))
