"""A share group that is deleted while its states are changed leaves none behind."""

from asyncio import gather, sleep
from random import Random
from typing import Any

import pytest

from barnabas.broker.handlers import (
    alter_share_group_offsets,
    delete_groups,
    delete_share_group_offsets,
    share_group_heartbeat,
)
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.node import Node
from barnabas.share.state import SharePartitionKey
from barnabas.share.state_write import NO_START_OFFSET
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import RequestHeader
from barnabas.wire.messages import alter_share_group_offsets as alter_messages
from barnabas.wire.messages import delete_share_group_offsets as delete_messages
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.broker.share.share_client import run, topic_id
from tests.support.access import LocalUser

SETTINGS: dict[str, str] = {}


class Administrator:
    def __init__(self, node: Node, group_id: str, seed: int) -> None:
        self.node = node
        self.group_id = group_id
        self._random = Random(seed)
        connection: Any = Connection(lambda *_: None, node.connections)
        self._context = RequestContext(RequestHeader(0, 0, 1, "test"), connection)

    async def pause(self) -> None:
        for _ in range(self._random.randrange(6)):
            await sleep(0)

    async def form(self) -> None:
        """A group that had a member, and has a state for its partitions."""
        for epoch in (0, -1):
            request = ShareGroupHeartbeatRequest(self.group_id, "m", epoch, None, ["t"])
            response = await share_group_heartbeat.handle(self.node, request, self._context)
            assert response.error_code == 0
            while epoch == 0 and not self.known():
                await sleep(0.001)

    def known(self) -> Any:
        shard = self.node.groups.find(self.group_id)
        assert not isinstance(shard, ErrorCode)
        return shard.groups.share.initialized_states(self.group_id)

    async def alter(self) -> Any:
        await self.pause()
        partition = alter_messages.AlterShareGroupOffsetsRequestPartition(0, 3)
        topic = alter_messages.AlterShareGroupOffsetsRequestTopic("t", [partition])
        request = alter_messages.AlterShareGroupOffsetsRequest(self.group_id, [topic])
        return await alter_share_group_offsets.handle(self.node, request, self._context)

    async def delete_offsets(self) -> Any:
        await self.pause()
        topic = delete_messages.DeleteShareGroupOffsetsRequestTopic("t")
        request = delete_messages.DeleteShareGroupOffsetsRequest(self.group_id, [topic])
        return await delete_share_group_offsets.handle(self.node, request, self._context)

    async def delete(self) -> Any:
        await self.pause()
        request = DeleteGroupsRequest([self.group_id])
        return await delete_groups.handle(self.node, request, self._context)


@pytest.mark.parametrize("seed", range(15))
def test_offsets_are_altered_while_the_group_is_deleted(local_node: Node, seed: int) -> None:
    group_id = f"raced-{seed}"
    administrator = Administrator(local_node, group_id, seed)
    LocalUser(local_node, "anybody").find_group_coordinator(group_id)

    async def race() -> Any:
        await administrator.form()
        return await gather(
            administrator.alter(),
            administrator.delete(),
            administrator.delete_offsets(),
            administrator.alter(),
        )

    _, deleted, _, _ = run(local_node, race())
    assert deleted.results[0].error_code == 0
    assert not administrator.known()
    key = SharePartitionKey(group_id, topic_id(local_node), 0)
    assert run(local_node, local_node.share_states.summary(key)).start_offset == NO_START_OFFSET
    assert not local_node.share_group_states._turns
