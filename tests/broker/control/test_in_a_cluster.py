"""Three real nodes: what every one of them has to know or find out, and a start without a majority.

How a cluster lives through faults is in tests/cluster.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BrokerUnreachable
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Listener,
)
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.peer import prove
from tests.support.wait import wait_until

BROKER = 4


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with ClusterProcesses(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster
        for node in cluster.nodes.values():
            assert "Traceback" not in node.log.read_text(), node.log_tail()


def ask(node: NodeProcess, request: Request[Any]) -> Any:
    with node.connect(60) as client:
        return client.ask(request)


def test_a_topic_is_known_where_it_was_created(cluster: ClusterProcesses) -> None:
    for node_id, node in cluster.nodes.items():
        name = f"created-{node_id}"
        with node.connect(60) as client:
            request = CreateTopicsRequest([CreatableTopic(name, 4, 3)], 5_000)
            assert client.ask(request).topics[0].error_code == 0
            asked = MetadataRequest([MetadataRequestTopic(name=name)])
            asked.allow_auto_topic_creation = False
            (topic,) = client.ask(asked).topics
        assert topic.error_code == 0
        assert len(topic.partitions) == 4


def test_producer_ids_are_unique_in_the_cluster(cluster: ClusterProcesses) -> None:
    ids = [
        ask(node, InitProducerIdRequest(None)).producer_id
        for _ in range(3)
        for node in cluster.nodes.values()
    ]
    assert len(set(ids)) == len(ids)


def test_the_settings_of_any_broker_can_be_asked_for_anywhere(cluster: ClusterProcesses) -> None:
    keys = ["node.id", "listeners"]
    for node in cluster.nodes.values():
        asked = [DescribeConfigsResource(BROKER, str(node_id), keys) for node_id in (1, 2, 3, 9)]
        answer = ask(node, DescribeConfigsRequest(asked))
        assert [result.resource_name for result in answer.results] == ["1", "2", "3", "9"]
        for node_id, result in zip((1, 2, 3), answer.results, strict=False):
            assert result.error_code == 0
            values = {config.name: config.value for config in result.configs}
            assert values == {"node.id": str(node_id), "listeners": cluster[node_id].bootstrap}
        assert answer.results[3].error_code == ErrorCode.INVALID_REQUEST


def register(node: NodeProcess, node_id: int, cluster_id: str) -> BrokerRegistrationResponse:
    """As a node does it that has not been there before."""
    request = BrokerRegistrationRequest(
        node_id,
        cluster_id,
        b"i" * 16,
        [Listener("PLAINTEXT", "nowhere", 9, 0)],
        rack=None,
        log_dirs=[b"another directory"[:16]],
    )
    with node.connect(60) as client:
        answer = prove(client, node, node_id).ask(request)
    assert isinstance(answer, BrokerRegistrationResponse)
    return answer


def heartbeat(node: NodeProcess, node_id: int, epoch: int) -> BrokerHeartbeatResponse:
    request = BrokerHeartbeatRequest(node_id, epoch, 0)
    with node.connect(60) as client:
        answer = prove(client, node, node_id).ask(request)
    assert isinstance(answer, BrokerHeartbeatResponse)
    return answer


def test_nobody_takes_a_living_brokers_place(cluster: ClusterProcesses) -> None:
    described = ask(cluster[1], DescribeClusterRequest())
    controller = cluster[described.controller_id]
    victim = next(node_id for node_id in (1, 2, 3) if node_id != described.controller_id)
    taken = register(controller, victim, described.cluster_id)
    assert taken.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    foreign = register(controller, 9, "another cluster")
    assert foreign.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    other = cluster[victim]
    assert register(other, 9, described.cluster_id).error_code == ErrorCode.NOT_CONTROLLER
    # One that speaks of an old epoch, and goes away, does not take the living one along.
    assert heartbeat(controller, victim, -5).error_code == ErrorCode.STALE_BROKER_EPOCH
    time.sleep(0.4)
    brokers = ask(controller, DescribeClusterRequest()).brokers
    assert {broker.broker_id for broker in brokers} == {1, 2, 3}
    assert "the controller has fenced this node" not in other.log.read_text()


async def reach(node: NodeProcess) -> None:
    async with ClusterClient(f"127.0.0.1:{node.port}", request_timeout_ms=10_000):
        pass


@pytest.mark.long
def test_without_a_majority_a_node_waits_says_so_and_can_be_stopped(
    cluster: ClusterProcesses,
) -> None:
    cluster.create_topic("kept", 1)
    cluster.stop()
    node = cluster[2]
    node.launch()
    waited_for = ", ".join(f"node {n} (127.0.0.1:{cluster[n].port})" for n in (1, 3))
    wait_until(
        lambda: (
            f"a majority of the voters must be running; waiting for {waited_for}" in node.log_tail()
        ),
        "it does not say whom it waits for",
    )
    assert node.alive
    with node.connect(60) as client:
        described = client.ask(DescribeClusterRequest())
    assert described.cluster_id
    assert described.controller_id == -1
    with pytest.raises(BrokerUnreachable, match="is up, but waits for a controller"):
        asyncio.run(reach(node))
    node.stop()
    cluster.start()
    with node.connect(60) as client:
        topics = client.ask(MetadataRequest(None)).topics
    assert "kept" in {topic.name for topic in topics}
