"""A client that sends its next request before the answer to the last one has come."""

import asyncio
from unittest.mock import patch

import pytest

from barnabas.broker.net import connection as broker_connection
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.sim.client import Client, TryAgain
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.sim.calm_cluster import LONG_US, running

ROUNDS = 20
BY_NAME = 9
GROUP, TOPIC = "g", "t"


async def commit(connection: BrokerConnection, offset: int) -> int:
    partitions = [OffsetCommitRequestPartition(0, offset)]
    request = OffsetCommitRequest(
        GROUP, topics=[OffsetCommitRequestTopic(TOPIC, partitions=partitions)]
    )
    answer = await connection.send(request, max_version=BY_NAME)
    return answer.topics[0].partitions[0].error_code


async def committed(connection: BrokerConnection) -> int:
    topics = [OffsetFetchRequestTopics(TOPIC, partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=topics)])
    answer = await connection.send(request, max_version=BY_NAME)
    return answer.groups[0].topics[0].partitions[0].committed_offset


async def coordinator(client: Client) -> BrokerConnection:
    """A connection to the node that serves the group, once it does."""
    host = client.any_node()
    while True:
        try:
            created = CreateTopicsRequest([CreatableTopic(TOPIC, 1, 3)])
            await client.call(host, created)
            (found,) = (
                await client.call(host, FindCoordinatorRequest(coordinator_keys=[GROUP]))
            ).coordinators
            if not found.error_code:
                connection = await client.connect(found.host, "pipeline")
                if await commit(connection, 0) == 0:
                    return connection
        except TryAgain:
            pass
        await client.pause(20, 50)


async def read_behind(client: Client, seen: list[int]) -> None:
    connection = await coordinator(client)
    for offset in range(1, ROUNDS + 1):
        error, read = await asyncio.gather(commit(connection, offset), committed(connection))
        assert error == 0
        seen.append(read)


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_commit_is_read_behind_it(is_broken: bool) -> None:
    """With the rule broken, which is that requests wait for those before them, it shows."""
    seen: list[int] = []
    rule = (lambda *_: True) if is_broken else broker_connection.may_overlap
    with patch.object(broker_connection, "may_overlap", rule), running(1) as (cluster, _):
        client = cluster.client("pipeline")
        client.run(read_behind(client, seen))
        simulator = cluster.simulator
        simulator.run_until_true(
            lambda: bool(client.tasks) and client.is_done, LONG_US, "all is read"
        )
    assert (seen == list(range(1, ROUNDS + 1))) is not is_broken
