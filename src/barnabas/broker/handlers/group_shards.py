"""What handlers of group APIs share: reaching the group's shard, and looking up partitions."""

from asyncio import Future
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from barnabas.broker.coordinator.group_coordinator import GroupCoordinator
from barnabas.broker.coordinator.member_connections import MemberConnections
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups import GroupShard
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response

ResponseT = TypeVar("ResponseT", bound=Response)


class Needs(Protocol):
    """What this handler asks of the node."""

    groups: GroupCoordinator
    image: MetadataImage


def decided_by_shard(
    node: Needs,
    group_id: str,
    failed: Callable[[ErrorCode], ResponseT],
    decide: Callable[[GroupShard, object, int], CoordinatorDecision],
) -> "ResponseT | Future[Any]":
    """Have the group's shard decide, given a token and the time, and answer when it says so.

    `failed` makes the response for when the group can't be served here.
    """
    shard = node.groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return failed(shard)
    return shard.decide(lambda token: decide(shard.groups, token, shard.now_ms()))


class FollowsMembers(Needs, Protocol):
    """What handlers ask of the node through which members say that they live."""

    member_connections: MemberConnections


def follow_member(
    node: FollowsMembers,
    group_id: str,
    member_id: str,
    context: RequestContext,
    interval_ms: int = 0,
) -> None:
    """Remember on which connection a member of a consumer group was heard, if it is one."""
    shard = node.groups.find(group_id)
    if not isinstance(shard, ErrorCode) and shard.groups.is_member(group_id, member_id):
        node.member_connections.heard(group_id, member_id, context.connection, interval_ms)
    else:
        node.member_connections.left(group_id, member_id)


def partition_exists(node: Needs, topic: str, index: int) -> bool:
    """Wherever its replicas are."""
    image = node.image.topics.get(topic)
    return image is not None and 0 <= index < len(image.partitions)
