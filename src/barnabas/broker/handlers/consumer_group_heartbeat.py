"""ConsumerGroupHeartbeat, versions 0-1: join a consumer group, stay in it, leave it.

The answer comes when what it says is persisted. In version 0 the coordinator gives out member ids.
From version 1 on a member may subscribe by a regular expression. It matches topics that the member
may describe.
"""

from asyncio import Future
from typing import Any, Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.handlers.group_shards import FollowsMembers, follow_member
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


class Needs(FollowsMembers, Protocol):
    """What this handler asks of the node."""

    authorization: Authorization


def handle(
    node: Needs, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> "ConsumerGroupHeartbeatResponse | Future[Any]":
    shard = node.groups.find(request.group_id)
    if isinstance(shard, ErrorCode):
        return ConsumerGroupHeartbeatResponse(error_code=shard)
    answer = shard.decide(
        lambda token: shard.groups.consumer.heartbeat(
            request,
            token=token,
            client_id=context.client_id,
            client_host=f"/{context.client_host}",
            new_member_id="" if request.member_id else node.groups.new_member_suffix(),
            api_version=context.version,
            now_ms=shard.now_ms(),
        )
    )
    answer.add_done_callback(lambda done: _answered(node, request, context, done))
    access = node.authorization.of(context.connection, "ConsumerGroupHeartbeat")
    node.groups.regexes.start_if_due(
        shard,
        request.group_id,
        lambda name: access.is_full or access.topic(AclOperation.DESCRIBE, name, log=False),
    )
    return answer


def _answered(
    node: Needs,
    request: ConsumerGroupHeartbeatRequest,
    context: RequestContext,
    answer: "Future[ConsumerGroupHeartbeatResponse]",
) -> None:
    member_id, interval_ms = request.member_id, 0
    if not answer.cancelled() and answer.exception() is None:
        response = answer.result()
        member_id = response.member_id or member_id  # given out in version 0
        interval_ms = response.heartbeat_interval_ms
    if member_id:
        follow_member(node, request.group_id, member_id, context, interval_ms)
