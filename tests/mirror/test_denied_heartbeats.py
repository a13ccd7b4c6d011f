"""Clusters that refuse heartbeats: everything else goes on, and `mirror status` says so."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import barnabas
from barnabas.client.admin.acls import AclBinding, create_acls
from barnabas.mirror.flow import ClusterEnd, Flow
from barnabas.mirror.groups.stop_request import StopRequest
from barnabas.mirror.operations.mirror_clients import connect
from barnabas.mirror.operations.status import MirrorStatus, collect_status
from barnabas.mirror.topic_sync import sync_topics
from tests.mirror.copies import make_topic, records_of
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import wait_until

ORDERS, HEARTBEATS = "orders", "heartbeats"
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "auto.create.topics.enable": "false",
}


@pytest.fixture(scope="module")
def refusing() -> Iterator[tuple[ClusterEnd, ClusterEnd]]:
    """Two clusters in which `heartbeats` exists in the source alone, and is for others."""
    with barnabas.Cluster(settings=SETTINGS) as one, barnabas.Cluster(settings=SETTINGS) as other:
        ends = ClusterEnd("A", one.bootstrap_servers), ClusterEnd("B", other.bootstrap_servers)
        make_topic(ends[0], HEARTBEATS)
        with barnabas.Producer(one.bootstrap_servers) as producer:
            producer.send(HEARTBEATS, b"of another mirror")
        deny(ends[0], HEARTBEATS, "READ", "WRITE", "DESCRIBE_CONFIGS")
        deny(ends[1], HEARTBEATS, "CREATE", "WRITE", "DESCRIBE")
        yield ends


def deny(end: ClusterEnd, topic: str, *operations: str) -> None:
    """Deny the mirror some operations, and allow the others."""

    async def run() -> None:
        rules = [
            AclBinding("User:ANONYMOUS", each, "TOPIC", topic, permission="DENY").acl
            for each in operations
        ]
        rules.append(AclBinding("User:ANONYMOUS", "ALL", "TOPIC", topic).acl)
        async with end.client() as cluster:
            await create_acls(cluster, rules)

    asyncio.run(run())


def status(flow: Flow) -> MirrorStatus:
    async def run() -> Any:
        async with connect(flow) as clients:
            return await collect_status(flow, clients)

    return asyncio.run(run())


def test_records_flow_and_a_stop_is_heard(refusing: tuple[ClusterEnd, ClusterEnd]) -> None:
    flow = Flow(*refusing, topics=(ORDERS,))
    make_topic(flow.source, ORDERS)
    with barnabas.Producer(flow.source.bootstrap_servers) as producer:
        producer.send(ORDERS, b"first")

    async def plan() -> Any:
        async with flow.source.client() as source, flow.target.client() as target:
            return await sync_topics(source, target, flow, {})

    async def stop() -> None:
        async with flow.target.client() as target:
            await StopRequest(flow, target).send()

    found = asyncio.run(plan())
    assert found.flowing == {HEARTBEATS: "A.heartbeats", ORDERS: "A.orders"}
    told = [each for each in found.problems if each.startswith("settings of heartbeats in A")]
    assert len(told) == 1, found.problems
    with RunningFlow(flow, dict.fromkeys(found.flowing, 1)) as running:
        wait_until(lambda: len(records_of(flow.target, "A.orders")) == 1)

        def is_told() -> bool:
            told = "\n".join(status(flow).problems)
            wanted = ("no heartbeats in B", "no heartbeats in A", "topic heartbeats of A")
            return all(each in told for each in wanted)

        wait_until(is_told, lambda: f"{status(flow).problems}, {running.upkeep.status}")
        assert status(flow).heartbeat_age_seconds is None
        asyncio.run(stop())
        wait_until(lambda: running.was_stopped, "the driver does not hear of the stop")
    assert status(flow).problems == [], "a driver that has ended has no problem"
